import { useRef, useState } from 'preact/hooks'
import type { Content } from '../../src/api/common.ts'
import { useApp } from '../app.ts'
import { Icon } from '../ui/icon.tsx'
import { type Picture, pictures } from '../ui/images.ts'
import { Problem } from '../ui/kit.tsx'
import { useAction } from '../ui/use-action.ts'
import { useKept } from '../ui/use-kept.ts'
import { t } from '../words.ts'
import { Controls } from './controls.tsx'
import type { Session } from './session.ts'

/** A message as the server takes it. */
export const contentOf = (text: string, images: readonly Picture[]): Content[] => [
  ...(text ? [{ type: 'text' as const, text, cache_prompt: false }] : []),
  ...(images.length > 0
    ? [{ type: 'image' as const, image_urls: images.map(image => image.url), cache_prompt: false }]
    : []),
]

/** Where a person talks to the agent, also while it works. What was typed stays until the server has it. */
export function Composer({ session }: { session: Session }) {
  const { api, toasts } = useApp()
  const [text, setText] = useKept(session.id)
  const [images, setImages] = useState<readonly Picture[]>([])
  const box = useRef<HTMLTextAreaElement>(null)
  const picker = useRef<HTMLInputElement>(null)
  const status = session.conversation.value?.execution_status
  const send = useAction(async () => {
    const content = contentOf(text.trim(), images)
    if (content.length === 0) return
    await api.sendMessage({ params: { conversation_id: session.id }, body: { role: 'user', content, run: true } })
    setText('')
    setImages([])
    box.current?.focus()
  })
  const attach = (files: Iterable<File> | null | undefined) =>
    pictures(files ?? []).then(more => setImages(before => [...before, ...more]), toasts.complain)

  return (
    <form
      class="composer"
      aria-busy={send.busy}
      onSubmit={event => {
        event.preventDefault()
        send.run()
      }}
    >
      {images.length > 0 && (
        <ul class="composer-images">
          {images.map((image, index) => (
            <li key={image.url}>
              <img src={image.url} alt={image.name} />
              <button
                type="button"
                class="icon"
                aria-label={t('Remove {name}', { name: image.name })}
                onClick={() => setImages(images.filter((_, at) => at !== index))}
              >
                <Icon name="close" />
              </button>
            </li>
          ))}
        </ul>
      )}
      <textarea
        ref={box}
        rows={Math.min(10, Math.max(2, text.split('\n').length))}
        aria-label={t('Message')}
        placeholder={status === 'running' ? t('Say something; it joins at the next step') : t('Message the agent')}
        value={text}
        onInput={event => setText(event.currentTarget.value)}
        onPaste={event => attach(event.clipboardData?.files)}
        onKeyDown={event => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
          event.preventDefault()
          send.run()
        }}
      />
      <div class="composer-row">
        <input
          ref={picker}
          type="file"
          accept="image/*"
          multiple
          hidden
          onChange={event => {
            attach([...(event.currentTarget.files ?? [])])
            // So that the same one can be picked again.
            event.currentTarget.value = ''
          }}
        />
        <button
          type="button"
          class="icon"
          aria-label={t('Attach a picture')}
          title={t('Attach a picture')}
          onClick={() => picker.current?.click()}
        >
          <Icon name="plus" />
        </button>
        <span class="composer-space" />
        <Controls session={session} />
        <button type="submit" class="primary" disabled={send.busy || (!text.trim() && images.length === 0)}>
          <Icon name="send" />
          {t('Send')}
        </button>
      </div>
      <Problem error={send.problem} />
    </form>
  )
}
