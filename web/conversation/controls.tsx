import { useApp } from '../app.ts'
import type { Status } from '../conversations/conversations.ts'
import type { IconName } from '../ui/icon.tsx'
import { ActionButton } from '../ui/kit.tsx'
import { t } from '../words.ts'
import type { Session } from './session.ts'

interface Control {
  label: string
  icon: IconName
  does: 'pauseConversation' | 'interruptConversation' | 'runConversation'
  primary?: boolean
}

const PAUSE: Control = { label: 'Pause', icon: 'pause', does: 'pauseConversation' }
const STOP: Control = { label: 'Stop', icon: 'stop', does: 'interruptConversation' }
const GO_ON: Control = { label: 'Go on', icon: 'play', does: 'runConversation', primary: true }

/** What can be asked of a run in each state; a pending action is answered where it is shown. */
const CONTROLS: Partial<Record<Status, readonly Control[]>> = {
  running: [PAUSE, STOP],
  idle: [GO_ON],
  paused: [GO_ON],
  error: [GO_ON],
  stuck: [GO_ON],
}

export function Controls({ session }: { session: Session }) {
  const { api, toasts } = useApp()
  const conversation = session.conversation.value
  const isNew = conversation?.execution_status === 'idle' && conversation.last_user_message_id === null
  const controls = (!isNew && conversation && CONTROLS[conversation.execution_status]) || []
  return (
    <>
      {controls.map(({ label, icon, does, primary }) => (
        <ActionButton
          key={label}
          icon={icon}
          class={primary ? 'primary' : ''}
          onProblem={toasts.complain}
          action={async () => {
            await api[does]({ params: { conversation_id: session.id } })
            await session.refresh()
          }}
        >
          {t(label)}
        </ActionButton>
      ))}
    </>
  )
}
