import { Code } from '../../ui/code.tsx'
import { Changed } from '../../ui/diff.tsx'
import type { Changes } from '../../ui/diff-rows.ts'
import { t } from '../../words.ts'
import { CopyButton } from './copy-button.tsx'
import { Lines } from './lines.tsx'

const MOST_LINES = 16

export const Counts = ({ added, removed }: { added: number; removed: number }) => (
  <span class="card-counts">
    {added > 0 && <span class="counts-come">+{added}</span>}
    {removed > 0 && <span class="counts-gone">−{removed}</span>}
  </span>
)

export const FileText = ({ id, name, text }: { id: string; name: string; text: string }) => (
  <div class="output file-text">
    <Lines id={`${id}-file`} text={text.replace(/\n$/, '')} most={MOST_LINES} keep="first">
      {part => <Code text={part} language={name} />}
    </Lines>
    <CopyButton text={text} label={t('Copy the file')} />
  </div>
)

export const FileChanges = ({ name, changes, text }: { name: string; changes: Changes | undefined; text: string }) => (
  <div class="output">
    <Changed changes={changes} name={name} />
    <CopyButton text={text} label={t('Copy the diff')} />
  </div>
)

/** For pasting elsewhere. */
export const diffText = ({ rows }: Changes): string =>
  rows
    .flatMap(({ kind, before, after }) => {
      const text = (line: typeof before) => (line?.pieces ?? []).map(piece => piece.text).join('')
      if (kind === 'gap') return ['…']
      if (kind === 'same') return [` ${text(after)}`]
      return [...(before ? [`-${text(before)}`] : []), ...(after ? [`+${text(after)}`] : [])]
    })
    .join('\n')
