import { useEffect, useState } from 'preact/hooks'
import { useApp } from '../../app.ts'
import { Icon } from '../../ui/icon.tsx'
import { copyText } from '../../ui/kit.tsx'
import { t } from '../../words.ts'

const SHOWN_MS = 1500

/** Says that it did in its own place. */
export function CopyButton({ text, label }: { text: string; label: string }) {
  const { toasts } = useApp()
  const [done, setDone] = useState(false)
  useEffect(() => {
    if (!done) return
    const timer = setTimeout(() => setDone(false), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [done])
  const copy = () => copyText(text).then(() => setDone(true), toasts.complain)
  return (
    <button
      type="button"
      class="icon copy-button"
      aria-label={done ? t('Copied') : label}
      title={done ? t('Copied') : label}
      onClick={copy}
    >
      <Icon name={done ? 'check' : 'copy'} />
    </button>
  )
}
