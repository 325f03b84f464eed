import { useId, useState } from 'preact/hooks'
import { useApp } from '../app.ts'
import { Field } from '../ui/kit.tsx'
import { useLoad } from '../ui/use-load.ts'
import { t } from '../words.ts'
import type { Draft } from './draft.ts'
import { TextInput } from './inputs.tsx'

/** As people write them. */
const NAMES: Record<string, string> = {
  anthropic: 'Anthropic',
  bedrock: 'Amazon Bedrock',
  cerebras: 'Cerebras',
  deepseek: 'DeepSeek',
  demo: 'Demo, without a key',
  fireworks_ai: 'Fireworks AI',
  gemini: 'Google Gemini',
  groq: 'Groq',
  minimax: 'MiniMax',
  mistral: 'Mistral',
  moonshot: 'Moonshot',
  openai: 'OpenAI',
  openrouter: 'OpenRouter',
  perplexity: 'Perplexity',
  together_ai: 'Together AI',
  xai: 'xAI',
  zai: 'Z.ai',
}

const providerOf = (model: unknown): string => String(model ?? '').split('/')[0]!

/** A provider proposes its best model; any other name can be written. */
export function ModelChoice({ draft }: { draft: Draft }) {
  const { api } = useApp()
  const listId = useId()
  const [chosen, setChosen] = useState<string>()
  const { value: providers = [] } = useLoad(signal => api.listProviders({ signal }).then(answer => answer.providers))
  const named = providerOf(draft.get('model'))
  const provider = providers.includes(named) ? named : (chosen ?? '')
  const { value: models = [] } = useLoad(
    async signal => (provider ? (await api.listModels({ query: { provider }, signal })).models : []),
    [provider],
  )
  const choose = async (next: string) => {
    setChosen(next)
    const best = next && (await api.listModels({ query: { provider: next } })).models[0]
    draft.set('model', best || null)
  }
  return (
    <div class="pair">
      <Field
        label={t('Provider')}
        hint={t('For a server of your own that speaks as OpenAI does, choose OpenAI and give its address.')}
      >
        {ids => (
          <select {...ids} value={provider} onChange={event => choose(event.currentTarget.value)}>
            <option value="" disabled={draft.get('model') === null}>
              {draft.get('model') === null ? t('Choose one') : t('Another, as written')}
            </option>
            {providers.map(name => (
              <option key={name} value={name}>
                {NAMES[name] ?? name}
              </option>
            ))}
          </select>
        )}
      </Field>
      <div>
        <TextInput
          draft={draft}
          name="model"
          label={t('Model')}
          required
          list={listId}
          placeholder="provider/model"
          hint={t('Written as provider/model. Type to search those that are known.')}
        />
        <datalist id={listId}>
          {models.map(model => (
            <option key={model} value={model} />
          ))}
        </datalist>
      </div>
    </div>
  )
}
