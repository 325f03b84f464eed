import { useState } from 'preact/hooks'
import { useApp } from '../app.ts'
import { hrefTo } from '../route.ts'
import { Icon } from '../ui/icon.tsx'
import { ActionButton, Field, Form, Problem } from '../ui/kit.tsx'
import { useLoad } from '../ui/use-load.ts'
import { t } from '../words.ts'

/** As people write them. */
const NAMES: Record<string, string> = {
  anthropic: 'Anthropic',
  openai: 'OpenAI',
  gemini: 'Google Gemini',
  deepseek: 'DeepSeek',
  mistral: 'Mistral',
  moonshot: 'Moonshot',
  xai: 'xAI',
  zai: 'Z.ai',
}

/** A model to think with: tested, then kept as the default. `onReady` is told the name of its profile. */
export function ModelSetup({ onReady }: { onReady: (profile: string) => void }) {
  const { api, quiet, toasts } = useApp()
  const { value: catalogue, problem } = useLoad(() => quiet.listVerifiedModels())
  const { value: local } = useLoad(() => quiet.localModels())
  const [provider, setProvider] = useState('anthropic')
  const [model, setModel] = useState('')
  const [key, setKey] = useState('')
  const models = catalogue?.models[provider] ?? []
  const chosen = model || models[0] || ''

  const use = async (llm: { model: string; api_key?: string; base_url?: string }) => {
    const name = llm.model.replace(/[^\w.-]+/g, '-').slice(0, 60)
    const params = { name }
    const { valid, error } = await api.validateProfile({ params, body: { llm } })
    if (!valid) throw new Error(error?.message ?? t('The model did not answer.'))
    await api.saveProfile({ params, body: { llm, include_secrets: true } })
    await api.activateProfile({ params })
    toasts.say(t('{model} answers. It is the default from now on.', { model: llm.model }))
    onReady(name)
  }

  return (
    <section class="group stack" aria-labelledby="model-setup">
      <h2 id="model-setup">{t('Pick a model')}</h2>
      <Form onSend={() => use({ model: `${provider}/${chosen}`, api_key: key.trim() })}>
        <div class="start-model">
          <Field label={t('Provider')}>
            {ids => (
              <select
                {...ids}
                value={provider}
                onChange={event => {
                  setProvider(event.currentTarget.value)
                  setModel('')
                }}
              >
                {Object.keys(catalogue?.models ?? {}).map(name => (
                  <option key={name} value={name}>
                    {NAMES[name] ?? name}
                  </option>
                ))}
              </select>
            )}
          </Field>
          <Field label={t('Model')}>
            {ids => (
              <select {...ids} value={chosen} onChange={event => setModel(event.currentTarget.value)}>
                {models.map(name => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            )}
          </Field>
          <Field label={t('API key')}>
            {ids => (
              <input
                {...ids}
                type="password"
                autocomplete="off"
                required
                value={key}
                onInput={event => setKey(event.currentTarget.value)}
              />
            )}
          </Field>
        </div>
        <div class="row">
          <button type="submit" class="primary">
            <Icon name="check" />
            {t('Test and use')}
          </button>
          <span class="quiet">{t('One short question; the key stays on this server.')}</span>
        </div>
      </Form>
      <Problem error={problem} />
      {local?.map(server => (
        <div key={server.base_url} class="row">
          <span>{t('Found on this machine: {name}', { name: server.name })}</span>
          {server.models.slice(0, 4).map(name => (
            <ActionButton key={name} action={() => use({ model: name, base_url: server.base_url })}>
              {name}
            </ActionButton>
          ))}
        </div>
      ))}
      <p class="quiet">
        {t('Another provider, or a server of your own?')}{' '}
        <a href={hrefTo(['settings', 'models'])}>{t('All settings of models')}</a>
      </p>
    </section>
  )
}
