import { useEffect } from 'preact/hooks'
import { useApp } from '../app.ts'
import { t } from '../words.ts'

const STEP = 4
const LEAST = 20
const MOST = 75

const within = (percent: number): number => Math.min(MOST, Math.max(LEAST, Math.round(percent)))

/** Between talk and workspace: dragged, or moved by the arrow keys. The share is the workspace's, in percent. */
export function Splitter() {
  const { share } = useApp().preferences
  useEffect(() => {
    document.documentElement.style.setProperty('--workspace-share', `${share.value}%`)
  }, [share.value])
  return (
    // biome-ignore lint/a11y/useSemanticElements: a line that is moved is no horizontal rule
    <div
      class="splitter"
      role="separator"
      tabIndex={0}
      aria-label={t('Width of the workspace')}
      aria-orientation="vertical"
      aria-valuemin={LEAST}
      aria-valuemax={MOST}
      aria-valuenow={share.value}
      onPointerDown={event => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={event => {
        const whole = event.currentTarget.parentElement
        if (!whole || !event.currentTarget.hasPointerCapture(event.pointerId)) return
        const { right, width } = whole.getBoundingClientRect()
        share.value = within(((right - event.clientX) / width) * 100)
      }}
      onKeyDown={event => {
        const step = { ArrowLeft: STEP, ArrowRight: -STEP }[event.key]
        if (step) share.value = within(share.value + step)
      }}
    />
  )
}
