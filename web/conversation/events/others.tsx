import type { ActionEvent } from '../../../src/api/events.ts'
import type { IconName } from '../../ui/icon.tsx'
import { plural, t } from '../../words.ts'
import { CopyButton } from './copy-button.tsx'
import type { ActionOf, Look, Looks, ObservationOf, Word } from './look.tsx'

/** A line is enough; what came of it is there to be opened. */
const line = (icon: IconName, ...words: readonly Word[]): Look => ({ icon, words, isOpen: false, tellsResult: false })
const code = (text: string): Word => ({ text, isCode: true })

export const otherLooks: Looks = {
  GlobAction: (event, result) => {
    const { pattern } = event.action as ActionOf<'GlobAction'>
    const found = (result?.observation as ObservationOf<'GlobObservation'> | undefined)?.files?.length
    return line('search', { text: t('Look for files') }, code(pattern), ...foundWords(found))
  },
  GrepAction: (event, result) => {
    const { pattern } = event.action as ActionOf<'GrepAction'>
    const found = (result?.observation as ObservationOf<'GrepObservation'> | undefined)?.matches?.length
    return line('search', { text: t('Search for') }, code(pattern), ...foundWords(found))
  },
  ListDirectoryAction: event =>
    line('folder', { text: t('List') }, code((event.action as ActionOf<'ListDirectoryAction'>).dir_path)),
  VisionInspectAction: event =>
    line('eye', { text: t('Look at a picture') }, { text: (event.action as ActionOf<'VisionInspectAction'>).question }),
  BrowserNavigateAction: event => ({
    ...line('globe', { text: t('Open') }, code((event.action as ActionOf<'BrowserNavigateAction'>).url)),
  }),
}

const foundWords = (n: number | undefined): Word[] =>
  n === undefined ? [] : [{ text: plural(n, '{n} file', '{n} files') }]

/** A tool of an MCP server, of a client, or one that is not known here: its name, and what it was given. */
export function otherLook(event: ActionEvent): Look {
  const given = argumentsOf(event)
  const isBrowser = event.action?.kind.startsWith('Browser')
  return {
    ...line(isBrowser ? 'globe' : 'gear', { text: t('Use') }, code(event.tool_name)),
    body: () => <Arguments given={given} />,
  }
}

function argumentsOf({ action, tool_call }: ActionEvent): unknown {
  if (!action) return parsed(tool_call.arguments)
  const { kind: _, ...fields } = action as Record<string, unknown>
  return 'data' in fields && Object.keys(fields).length === 1 ? fields.data : fields
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value, null, 2))

function Arguments({ given }: { given: unknown }) {
  const isTable = typeof given === 'object' && given !== null && !Array.isArray(given)
  const rows = isTable ? Object.entries(given) : []
  if (isTable && rows.length === 0) return null
  return (
    <div class="output arguments">
      {isTable ? (
        <table aria-label={t('What it was given')}>
          <tbody>
            {rows.map(([name, value]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td>{shown(value)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : (
        <pre>{shown(given)}</pre>
      )}
      <CopyButton text={shown(given)} label={t('Copy what it was given')} />
    </div>
  )
}
