import { userMessage } from './conversation.ts'
import type { Conversation } from './conversations.ts'
import { button, field, form, h } from './dom.ts'
import { type Api, call } from './http.ts'

interface Profiles {
  profiles: { name: string; model: string | null }[]
  active_profile: string | null
}

const TOOLS = ['terminal', 'file_editor', 'task_tracker', 'task_tool_set'].map(name => ({ name }))

/** What asks before it acts, and when. */
const CAUTION: Record<string, { label: string; order: object }> = {
  risky: {
    label: 'Before risky actions',
    order: {
      confirmation_policy: { kind: 'ConfirmRisky', threshold: 'HIGH', confirm_unknown: true },
      security_analyzer: {
        kind: 'EnsembleSecurityAnalyzer',
        analyzers: [{ kind: 'LLMSecurityAnalyzer' }, { kind: 'PolicyRailSecurityAnalyzer' }],
      },
    },
  },
  always: { label: 'Before every action', order: { confirmation_policy: { kind: 'AlwaysConfirm' } } },
  never: { label: 'Never', order: { confirmation_policy: { kind: 'NeverConfirm' } } },
}

/** The form that starts a conversation; `newest` lends it a likely working directory. */
export function startView(api: Api, newest: Conversation | undefined, onStarted: (id: string) => void): HTMLElement {
  const task = h('textarea', { rows: 5, required: true, placeholder: 'What should the agent do?' })
  const model = h('select', { required: true })
  const caution = h('select', {})
  for (const [value, { label }] of Object.entries(CAUTION)) caution.append(h('option', { value }, label))
  const directory = h('input', { required: true, autocomplete: 'off', spellcheck: false, placeholder: '/workspace' })
  directory.value = newest?.workspace?.working_dir ?? '/workspace/project'
  // A convenience: nobody is asked for a key on its account.
  call<Profiles>('GET', 'api/profiles')
    .then(({ profiles, active_profile }) => {
      for (const { name, model: of } of profiles)
        model.append(h('option', { value: name, selected: name === active_profile }, `${of ?? name} (${name})`))
    })
    .catch(() => undefined)

  /** The key of a profile stays on the server: the conversation is started without, and switched to it. */
  const start = async () => {
    const { id } = await api<Conversation>('POST', 'api/conversations', {
      agent: { kind: 'Agent', llm: { model: 'demo/guide', stream: true }, tools: TOOLS },
      workspace: { working_dir: directory.value.trim() },
      ...CAUTION[caution.value]?.order,
    })
    await api('POST', `api/conversations/${id}/switch_profile`, { profile_name: model.value })
    await api('POST', `api/conversations/${id}/events`, userMessage(task.value.trim()))
    onStarted(id)
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
      field('It asks', caution),
      h('div', { className: 'row' }, button('Start', 'primary')),
    ),
  )
}
