import { useState } from 'preact/hooks'
import { BASE } from '../api.ts'
import { useApp } from '../app.ts'
import { Delete, Rename } from '../conversations/rename.tsx'
import { StatusBadge, titleOf } from '../conversations/status.tsx'
import { hrefTo } from '../route.ts'
import { Icon } from '../ui/icon.tsx'
import { Menu } from '../ui/menu.tsx'
import { t } from '../words.ts'
import { Meter } from './meter.tsx'
import { ModelChoice } from './model-choice.tsx'
import { PolicyChoice } from './policy.tsx'
import type { Connection, Session } from './session.ts'

const CONNECTIONS: Partial<Record<Connection, string>> = {
  lost: 'The connection was lost; trying again…',
  gone: 'This conversation is gone.',
}

export interface HeaderProps {
  session: Session
  workspaceOpen: boolean
  onWorkspace: () => void
  onFork: () => void
}

export function Header({ session, workspaceOpen, onWorkspace, onFork }: HeaderProps) {
  const { api, go, conversations, toasts } = useApp()
  const [dialog, setDialog] = useState<'rename' | 'delete'>()
  const conversation = session.conversation.value
  const connection = CONNECTIONS[session.connection.value]
  const close = () => setDialog(undefined)
  const condense = async () => {
    await api.condenseConversation({ params: { conversation_id: session.id } })
    toasts.say(t('The older part is a summary for the model now.'))
  }
  return (
    <header class="conversation-head">
      <div class="conversation-naming">
        <a class="back" href={hrefTo([])}>
          <Icon name="back" />
          {t('All')}
        </a>
        <h1>{conversation ? titleOf(conversation) : '…'}</h1>
        {conversation && <StatusBadge status={conversation.execution_status} />}
        {connection && (
          <span class="conversation-connection" role="status">
            {t(connection)}
          </span>
        )}
      </div>
      {conversation && (
        <div class="conversation-controls">
          <ModelChoice session={session} />
          <PolicyChoice session={session} />
          <Meter session={session} />
          <button
            type="button"
            aria-pressed={workspaceOpen}
            class="conversation-workspace-toggle"
            onClick={onWorkspace}
          >
            <Icon name="folder" />
            {t('Workspace')}
          </button>
          <Menu
            label={t('More')}
            items={[
              { label: t('Title and tags'), icon: 'edit', onSelect: () => setDialog('rename') },
              { label: t('Fork'), icon: 'branch', onSelect: onFork },
              { label: t('Condense'), icon: 'down', onSelect: () => condense().catch(toasts.complain) },
              {
                label: t('Download'),
                icon: 'download',
                onSelect: () => window.open(`${BASE}/api/file/download-trajectory/${session.id}`, '_self'),
              },
              { label: t('Delete'), icon: 'trash', danger: true, onSelect: () => setDialog('delete') },
            ]}
          />
        </div>
      )}
      {dialog === 'rename' && conversation && (
        <Rename conversation={conversation} onClose={close} onDone={() => session.refresh()} />
      )}
      {dialog === 'delete' && conversation && (
        <Delete
          conversation={conversation}
          onClose={close}
          onDone={() => {
            go([])
            conversations.refresh()
          }}
        />
      )}
    </header>
  )
}
