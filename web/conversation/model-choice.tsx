import { useApp } from '../app.ts'
import { useLoad } from '../ui/use-load.ts'
import { t } from '../words.ts'
import type { Session } from './session.ts'

/** Has another model think, from the next step on. */
export function ModelChoice({ session }: { session: Session }) {
  const { api, quiet, toasts } = useApp()
  const { value } = useLoad(() => quiet.listProfiles())
  const conversation = session.conversation.value
  if (!conversation) return null
  const agent = conversation.agent
  const model = 'llm' in agent ? agent.llm.model : (conversation.current_model_id ?? '')
  const profiles = value?.profiles ?? []
  const current = profiles.find(profile => profile.model === model)?.name
  const change = async (name: string) => {
    await api.switchProfile({ params: { conversation_id: session.id }, body: { profile_name: name } })
    await session.refresh()
    toasts.say(t('Thinks with {name} from the next step on.', { name }))
  }
  return (
    <select
      class="compact"
      aria-label={t('Model')}
      title={model}
      value={current ?? ''}
      onChange={event => change(event.currentTarget.value).catch(toasts.complain)}
    >
      {!current && <option value="">{model}</option>}
      {profiles.map(({ name, model }) => (
        <option key={name} value={name}>
          {model && model !== name ? `${model} (${name})` : name}
        </option>
      ))}
    </select>
  )
}
