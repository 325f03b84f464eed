import { useState } from 'preact/hooks'
import { useApp } from '../app.ts'
import { hrefTo } from '../route.ts'
import { Icon } from '../ui/icon.tsx'
import { Loading, Problem, When } from '../ui/kit.tsx'
import { Menu } from '../ui/menu.tsx'
import { t } from '../words.ts'
import type { Conversation } from './conversations.ts'
import { useFound } from './found.ts'
import { Delete, Rename } from './rename.tsx'
import { StatusBadge, titleOf } from './status.tsx'

const SUBAGENT = 'subagent'

/** All conversations, the last changed first, with what they are doing now. */
export function Sidebar() {
  const { conversations } = useApp()
  const [words, setWords] = useState('')
  const [tag, setTag] = useState<string>()
  const found = useFound(words.trim())
  const all = words.trim() ? found : conversations.items.value
  // A sub-agent's is reached from the card of its task, and by its tag.
  const shown = all?.filter(one => (tag === undefined ? !(SUBAGENT in one.tags) : tag in one.tags))
  const none = words.trim() || tag !== undefined ? t('Nothing found.') : t('No conversations yet.')
  return (
    <div class="sidebar">
      <a class="button primary" href={hrefTo(['new'])}>
        <Icon name="plus" />
        {t('New conversation')}
      </a>
      <input
        type="search"
        aria-label={t('Search conversations')}
        placeholder={t('Search')}
        value={words}
        onInput={event => setWords(event.currentTarget.value)}
      />
      {tag !== undefined && (
        <button type="button" class="chip" onClick={() => setTag(undefined)}>
          <Icon name="tag" />
          {tag}
          <Icon name="close" />
        </button>
      )}
      <Problem error={conversations.problem.value} again={() => conversations.refresh()} />
      {shown === undefined && conversations.problem.value === undefined && <Loading />}
      <ul class="conversation-list">
        {shown?.map(one => (
          <Row key={one.id} conversation={one} onTag={setTag} />
        ))}
        {shown?.length === 0 && <li class="quiet conversation-none">{none}</li>}
        {conversations.hasMore.value && !words.trim() && (
          <li>
            <button type="button" class="conversation-more" onClick={() => conversations.more()}>
              {t('Show more')}
            </button>
          </li>
        )}
      </ul>
    </div>
  )
}

function Row({ conversation, onTag }: { conversation: Conversation; onTag: (tag: string) => void }) {
  const { route, go } = useApp()
  const [dialog, setDialog] = useState<'rename' | 'delete'>()
  const isHere = route.value.path[1] === conversation.id
  const close = () => setDialog(undefined)
  // A fork keeps its title as a tag too.
  const tags = Object.keys(conversation.tags).filter(tag => tag !== 'title')
  return (
    <li class="conversation-row">
      <a href={hrefTo(['c', conversation.id])} aria-current={isHere ? 'page' : undefined}>
        <span class="conversation-title">{titleOf(conversation)}</span>
        <span class="quiet conversation-meta">
          <StatusBadge status={conversation.execution_status} />
          <When at={conversation.updated_at} />
        </span>
      </a>
      {tags.length > 0 && (
        <div class="conversation-tags">
          {tags.map(tag => (
            <button key={tag} type="button" class="chip" onClick={() => onTag(tag)}>
              {tag}
            </button>
          ))}
        </div>
      )}
      <Menu
        label={t('About {title}', { title: titleOf(conversation) })}
        items={[
          { label: t('Title and tags'), icon: 'edit', onSelect: () => setDialog('rename') },
          { label: t('Delete'), icon: 'trash', danger: true, onSelect: () => setDialog('delete') },
        ]}
      />
      {dialog === 'rename' && <Rename conversation={conversation} onClose={close} />}
      {dialog === 'delete' && <Delete conversation={conversation} onClose={close} onDone={() => isHere && go([])} />}
    </li>
  )
}
