import { useApp } from '../app.ts'
import { t } from '../words.ts'
import { CAUTIONS, type Caution, cautionOf, orderOf } from './caution.ts'
import type { Session } from './session.ts'

/** Changes when the agent asks, from the next action on. What already waits goes on waiting. */
export function PolicyChoice({ session }: { session: Session }) {
  const { api, toasts } = useApp()
  const conversation = session.conversation.value
  if (!conversation) return null
  const current = cautionOf(conversation.confirmation_policy)
  const change = async (caution: Caution) => {
    const params = { conversation_id: session.id }
    const order = orderOf(caution)
    // The analyzer first: between both calls there must be no policy that nothing feeds.
    if (order.security_analyzer)
      await api.setSecurityAnalyzer({ params, body: { security_analyzer: order.security_analyzer } })
    await api.setConfirmationPolicy({ params, body: { policy: order.confirmation_policy } })
    await session.refresh()
    toasts.say(t(CAUTIONS[caution].hint))
  }
  return (
    <select
      class="compact"
      aria-label={t('When the agent asks')}
      title={t(CAUTIONS[current].hint)}
      value={current}
      onChange={event => change(event.currentTarget.value as Caution).catch(toasts.complain)}
    >
      {Object.entries(CAUTIONS).map(([value, { label }]) => (
        <option key={value} value={value}>
          {t(label)}
        </option>
      ))}
    </select>
  )
}
