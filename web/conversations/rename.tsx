import { useState } from 'preact/hooks'
import { useApp } from '../app.ts'
import { Confirm, DialogForm } from '../ui/dialog.tsx'
import { Field } from '../ui/kit.tsx'
import { t } from '../words.ts'
import type { Conversation } from './conversations.ts'
import { titleOf } from './status.tsx'

export interface AboutOne {
  conversation: Pick<Conversation, 'id' | 'title' | 'tags'>
  onClose: () => void
  onDone?: () => unknown
}

const asText = (tags: Record<string, string>): string =>
  Object.entries(tags)
    .map(([key, value]) => (value ? `${key}=${value}` : key))
    .join(', ')

const asTags = (text: string): Record<string, string> =>
  Object.fromEntries(
    text
      .split(',')
      .map(word => word.trim())
      .filter(Boolean)
      .map(word => {
        const [key = '', ...value] = word.split('=')
        return [key.trim().toLowerCase(), value.join('=').trim()]
      }),
  )

/** Title and tags of a conversation. */
export function Rename({ conversation, onClose, onDone }: AboutOne) {
  const { api, conversations } = useApp()
  const [title, setTitle] = useState(conversation.title ?? '')
  const [tags, setTags] = useState(asText(conversation.tags))
  const save = async () => {
    await api.updateConversation({
      params: { conversation_id: conversation.id },
      body: { ...(title.trim() && { title: title.trim() }), tags: asTags(tags) },
    })
    await Promise.all([conversations.refresh(), onDone?.()])
  }
  return (
    <DialogForm title={t('Title and tags')} yes={t('Save')} action={save} onClose={onClose}>
      <Field label={t('Title')}>
        {ids => <input {...ids} maxLength={200} value={title} onInput={event => setTitle(event.currentTarget.value)} />}
      </Field>
      <Field
        label={t('Tags')}
        hint={t('Words of small letters and digits, with a value if you like: team=web, urgent')}
      >
        {ids => <input {...ids} value={tags} onInput={event => setTags(event.currentTarget.value)} />}
      </Field>
    </DialogForm>
  )
}

export function Delete({ conversation, onClose, onDone }: AboutOne) {
  const { api, conversations } = useApp()
  return (
    <Confirm
      title={t('Delete this conversation?')}
      yes={t('Delete')}
      onClose={onClose}
      action={async () => {
        await api.deleteConversation({ params: { conversation_id: conversation.id } })
        conversations.remove(conversation.id)
        onDone?.()
      }}
    >
      <p>
        {t('“{title}”: its events are gone for good. Files in the sandbox stay.', { title: titleOf(conversation) })}
      </p>
    </Confirm>
  )
}
