import { userMessage } from './conversation.ts'
import type { Conversation } from './conversations.ts'
import { button, field, form, h } from './dom.ts'
import { type Api, call } from './http.ts'
import type { Settings } from './settings.ts'

/** The form that starts a conversation; `newest` lends it a likely working directory. */
export function startView(api: Api, newest: Conversation | undefined, onStarted: (id: string) => void): HTMLElement {
  const task = h('textarea', { rows: 5, required: true, placeholder: 'What should the agent do?' })
  const model = h('input', { required: true, autocomplete: 'off', spellcheck: false, placeholder: 'provider/model' })
  const directory = h('input', {
    required: true,
    autocomplete: 'off',
    spellcheck: false,
    placeholder: '/path/to/project',
  })
  directory.value = newest?.workspace?.working_dir ?? ''
  // A convenience: nobody is asked for a key on its account.
  call<Settings>('GET', 'api/settings')
    .then(settings => {
      model.value ||= settings.agent_settings?.llm?.model ?? ''
    })
    .catch(() => undefined)

  const start = async () => {
    const started = await api<Conversation>('POST', 'api/conversations', {
      agent: { kind: 'Agent', llm: { model: model.value.trim() } },
      workspace: { working_dir: directory.value.trim() },
      initial_message: userMessage(task.value.trim()),
    })
    onStarted(started.id)
  }
  return h(
    'section',
    { className: 'panel' },
    h('a', { className: 'back', href: '#/' }, '‹ All conversations'),
    h('h1', {}, 'New conversation'),
    form(
      'stack',
      start,
      field('Task', task),
      h('div', { className: 'pair' }, field('Model', model), field('Working directory', directory)),
      h('div', { className: 'row' }, button('Start', 'primary')),
    ),
  )
}
