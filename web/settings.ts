import { button, field, form, h } from './dom.ts'
import { type Api, call, wordsOf } from './http.ts'

export interface Settings {
  agent_settings?: { llm?: { model?: string; base_url?: string | null } }
  llm_api_key_is_set?: boolean
}

interface Secret {
  name: string
  description?: string | null
}

export function settingsView(api: Api): HTMLElement {
  return h(
    'section',
    { className: 'panel' },
    h('a', { className: 'back', href: '#/' }, '‹ All conversations'),
    h('h1', {}, 'Settings'),
    modelSettings(api),
    secretSettings(api),
    form('inline', signOut, button('Sign out of this browser')),
  )
}

async function signOut(): Promise<void> {
  await call('DELETE', 'api/auth/sign-in')
  location.reload()
}

function modelSettings(api: Api): HTMLElement {
  const model = h('input', { required: true, autocomplete: 'off', spellcheck: false, placeholder: 'provider/model' })
  const baseUrl = h('input', { type: 'url', autocomplete: 'off', placeholder: "The provider's own" })
  const apiKey = h('input', { type: 'password', autocomplete: 'new-password' })
  const note = h('p', { className: 'quiet', role: 'status' })

  function show(settings: Settings): void {
    model.value = settings.agent_settings?.llm?.model ?? ''
    baseUrl.value = settings.agent_settings?.llm?.base_url ?? ''
    apiKey.value = ''
    apiKey.placeholder = settings.llm_api_key_is_set ? 'Set; leave empty to keep it' : 'Not set'
  }

  async function save(): Promise<void> {
    note.textContent = ''
    const llm = { model: model.value.trim(), base_url: baseUrl.value.trim() || null }
    const withKey = apiKey.value ? { ...llm, api_key: apiKey.value } : llm
    show(await api<Settings>('PATCH', 'api/settings', { agent_settings_diff: { llm: withKey } }))
    note.textContent = 'Saved.'
  }

  api<Settings>('GET', 'api/settings').then(show, error => {
    note.textContent = wordsOf(error)
  })
  return form(
    'stack group',
    save,
    h('h2', {}, 'Model'),
    field('Model', model),
    field('Base URL', baseUrl, 'Only for a gateway or a server of your own.'),
    field('API key', apiKey, 'Can be replaced here, never read.'),
    h('div', { className: 'row' }, button('Save', 'primary'), note),
  )
}

function secretSettings(api: Api): HTMLElement {
  const list = h('ul', { className: 'secrets' })
  const name = h('input', {
    required: true,
    autocomplete: 'off',
    spellcheck: false,
    pattern: '[a-zA-Z][a-zA-Z0-9_]{0,63}',
    title: 'A letter, then letters, digits and underscores',
  })
  const value = h('input', { type: 'password', required: true, autocomplete: 'new-password' })
  const description = h('input', { autocomplete: 'off' })

  const row = (secret: Secret) =>
    h(
      'li',
      {},
      h('code', {}, secret.name),
      h('span', { className: 'quiet' }, secret.description ?? ''),
      form('inline', () => remove(secret.name), h('button', { ariaLabel: `Delete ${secret.name}` }, 'Delete')),
    )

  async function read(): Promise<void> {
    try {
      const { secrets } = await api<{ secrets: Secret[] }>('GET', 'api/settings/secrets')
      list.replaceChildren(...(secrets.length > 0 ? secrets.map(row) : [h('li', { className: 'quiet' }, 'None yet.')]))
    } catch (error) {
      list.replaceChildren(h('li', { className: 'quiet' }, wordsOf(error)))
    }
  }

  async function remove(secret: string): Promise<void> {
    await api('DELETE', `api/settings/secrets/${encodeURIComponent(secret)}`)
    await read()
  }

  async function add(): Promise<void> {
    const body = { name: name.value, value: value.value, description: description.value || null }
    await api('PUT', 'api/settings/secrets', body)
    for (const input of [name, value, description]) input.value = ''
    await read()
  }

  read()
  return h(
    'div',
    { className: 'stack group' },
    h('h2', {}, 'Secrets'),
    h('p', { className: 'quiet' }, 'Kept encrypted, for the commands of agents that name them.'),
    list,
    form(
      'stack',
      add,
      h('div', { className: 'pair' }, field('Name', name), field('Value', value)),
      field('Description', description),
      h('div', { className: 'row' }, button('Add or replace')),
    ),
  )
}
