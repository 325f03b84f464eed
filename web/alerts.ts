import { effect, type Signal } from '@preact/signals'
import type { Conversation, Conversations } from './conversations/conversations.ts'
import { titleOf } from './conversations/status.tsx'
import type { Preferences } from './preferences.ts'
import type { Router } from './route.ts'
import { t } from './words.ts'

export interface AlertParts extends Pick<Router, 'go'> {
  conversations: Conversations
  preferences: Preferences
  /** Of what is shown. */
  title: Signal<string>
}

const isWaiting = ({ execution_status }: Conversation): boolean => execution_status === 'waiting_for_confirmation'

/** A pending action is seen in the tab's title and, where the person allowed it, as a notification and a sound. */
export function startAlerts({ conversations, preferences, title, go }: AlertParts): void {
  let told = new Set<string>()
  effect(() => {
    const waiting = conversations.items.value?.filter(isWaiting) ?? []
    document.title = `${waiting.length > 0 ? `(${waiting.length}) ${t('Waiting for you')} · ` : ''}${title.value ? `${title.value} · ` : ''}Gantry`
    const fresh = waiting.filter(one => !told.has(one.id))
    told = new Set(waiting.map(one => one.id))
    if (fresh.length === 0) return
    if (preferences.sound.peek()) ring()
    if (preferences.notify.peek() && document.visibilityState === 'hidden') fresh.forEach(notify)
  })

  function notify(conversation: Conversation): void {
    if (!('Notification' in window) || Notification.permission !== 'granted') return
    const notice = new Notification(t('The agent waits for you'), {
      body: titleOf(conversation),
      tag: conversation.id,
      icon: 'web/icon.svg',
    })
    notice.onclick = () => {
      window.focus()
      go(['c', conversation.id])
    }
  }
}

/** Two soft tones. Browsers keep silent until the person has touched the page; then so do we. */
export function ring(): void {
  const context = new AudioContext()
  for (const [at, hertz] of [
    [0, 660],
    [0.14, 880],
  ] as const) {
    const tone = context.createOscillator()
    const volume = context.createGain()
    tone.frequency.value = hertz
    volume.gain.setValueAtTime(0.06, context.currentTime + at)
    volume.gain.exponentialRampToValueAtTime(0.001, context.currentTime + at + 0.25)
    tone.connect(volume).connect(context.destination)
    tone.start(context.currentTime + at)
    tone.stop(context.currentTime + at + 0.25)
  }
  setTimeout(() => context.close(), 1000)
}
