import { posix } from 'node:path'
import * as z from 'zod'
import type { FileEditorAction } from '../../api/actions.ts'
import type { Content } from '../../api/common.ts'
import type { FileEditorObservation } from '../../api/observations.ts'
import type { Hands } from '../tool.ts'
import { said, spoken } from './built-in.ts'
import { EditHistory } from './edit-history.ts'
import { NAMES_BYTES, NAMES_SHOWN } from './file-limits.ts'
import { imageOf } from './image.ts'
import { Refused } from './refused.ts'
import { nearest, placesOf, replaceAt } from './replace.ts'
import { tree } from './search.ts'
import { decode, lineEnd, linesOf, type Text, withEnds } from './text.ts'
import { fitting, numbered, page, snippet } from './view.ts'
import { attempt, digest, recorded, textIn, type Workspace } from './workspace.ts'

export const editorInput = spoken(() =>
  z.object({
    command: z
      .enum(['view', 'create', 'str_replace', 'insert', 'undo_edit'])
      .describe('What to do with the file. `view` is the only one that also takes a directory.'),
    path: z.string().describe('The file or directory: absolute, or relative to the working directory.'),
    file_text: z.string().optional().describe('For `create`: the whole content of the new file.'),
    old_str: z
      .string()
      .optional()
      .describe(
        'For `str_replace`: the text to replace, exactly as in the file, with enough lines to occur only once.',
      ),
    new_str: z
      .string()
      .optional()
      .describe('For `str_replace`: what takes its place; leave it out to delete. For `insert`: the lines to insert.'),
    insert_line: z
      .int()
      .min(0)
      .optional()
      .describe('For `insert`: the number of the line after which to insert; 0 inserts at the very beginning.'),
    view_range: z
      .array(z.int())
      .optional()
      .describe('For `view` of a file: first and last line to show, counted from 1; -1 as the last means to the end.'),
  }),
)

type Asked = Omit<FileEditorAction, 'kind'>
type Observed = Omit<FileEditorObservation, 'kind'>
type Seen = Omit<Observed, 'command' | 'path' | 'is_error'>

/** How many places of an ambiguous text are named. */
const PLACES_NAMED = 10

/** Looks at files and changes them, and can take changes back for as long as it lives. */
export class Editor {
  readonly #history = new EditHistory()

  /** `allowed` may refuse a path that would be changed. */
  run(asked: Asked, hands: Hands, allowed?: (path: string, files: Workspace) => Promise<void>): Promise<Observed> {
    const { command } = asked
    const path = posix.resolve(hands.workingDir, asked.path)
    return attempt(
      hands,
      async files => {
        if (command !== 'view') await allowed?.(path, files)
        return { ...(await this.#do(asked, path, files)), command, path, is_error: false }
      },
      why => ({ content: said(why), is_error: true, command, path, prev_exist: command !== 'create' }),
    )
  }

  #do(asked: Asked, path: string, files: Workspace): Promise<Seen> {
    switch (asked.command) {
      case 'view':
        return view(path, asked.view_range, files)
      case 'create':
        return this.#create(path, required(asked, 'file_text'), files)
      case 'str_replace':
        return this.#replace(path, required(asked, 'old_str'), asked.new_str ?? '', files)
      case 'insert':
        return this.#insert(path, required(asked, 'insert_line'), required(asked, 'new_str'), files)
      case 'undo_edit':
        return this.#undo(path, files)
    }
  }

  async #create(path: string, content: string, files: Workspace): Promise<Seen> {
    if (await files.look(path))
      throw new Refused(`${path} exists already, so it was not created. Change it with str_replace or insert.`)
    this.#history.add(path, undefined, await files.writeText(path, { content, encoding: 'utf-8' }))
    const lines = linesOf(content).length
    return change(said(`Created ${path} with ${lines} line${lines === 1 ? '' : 's'}.`), null, content)
  }

  async #replace(path: string, wanted: string, replacement: string, files: Workspace): Promise<Seen> {
    if (wanted === '') throw new Refused('`old_str` is empty. To add lines use insert, to make a new file create.')
    const before = await files.readText(path)
    const places = placesOf(before.content, wanted, { limit: PLACES_NAMED + 1, overlapping: true })
    const [place] = places
    if (!place) throw new Refused(absent(path, before.content, wanted))
    if (places.length > 1) throw new Refused(ambiguous(path, places))
    const content = replaceAt(before.content, [place], replacement)
    if (content === before.content) throw new Refused(`\`new_str\` is what stands there already: ${path} is unchanged.`)
    return this.#store(path, before, content, place.line, replacement, files)
  }

  async #insert(path: string, after: number, added: string, files: Workspace): Promise<Seen> {
    const before = await files.readText(path)
    const lines = linesOf(before.content)
    if (after > lines.length)
      throw new Refused(
        `\`insert_line\` is ${after}, but ${path} has ${lines.length} lines. Give 0 to ${lines.length}.`,
      )
    const end = lineEnd(before.content)
    const kept = (from: number, to?: number) =>
      lines
        .slice(from, to)
        .map(({ text, end }) => text + end)
        .join('')
    const head = kept(0, after)
    const text = before.content.includes('\r\n') ? withEnds(added, end) : added
    // Whole lines go in: the one before must have ended, and the last of them ends unless the file's last line does not.
    const unended = head !== '' && !head.endsWith('\n')
    const whole = text.endsWith('\n') || unended ? text : text + end
    const inserted = unended && whole.endsWith('\n') ? whole.slice(0, whole.endsWith('\r\n') ? -2 : -1) : whole
    const content = `${head}${unended ? end : ''}${inserted}${kept(after)}`
    return this.#store(path, before, content, after + 1, inserted, files)
  }

  async #store(
    path: string,
    before: Text & { bytes: Buffer },
    content: string,
    line: number,
    added: string,
    files: Workspace,
  ): Promise<Seen> {
    const written = await files.writeText(path, { content, encoding: before.encoding })
    this.#history.add(path, before.bytes, written)
    const shown = snippet(content, line, line + linesOf(added).length - 1)
    return change(said(`Changed ${path}. It now reads:\n${shown}`), before.content, content)
  }

  async #undo(path: string, files: Workspace): Promise<Seen> {
    const last = this.#history.last(path)
    if (!last) throw new Refused(`There is no edit of ${path} to undo.`)
    const { bytes } = await files.read(path)
    if (digest(bytes) !== last.after)
      throw new Refused(`${path} was changed by something else after the last edit; undoing that would lose it.`)
    if (last.before) await files.write(path, last.before)
    else await files.remove(path)
    this.#history.forget(last)
    const was = last.before && decode(last.before)?.content
    const what = last.before ? `Undid the last edit of ${path}.` : `Removed ${path}, which the last edit had created.`
    return change(said(what), decode(bytes)?.content ?? null, was ?? null, true)
  }
}

function required<K extends 'file_text' | 'old_str' | 'new_str' | 'insert_line'>(
  asked: Asked,
  name: K,
): NonNullable<Asked[K]> {
  const value = asked[name]
  if (value === undefined || value === null) throw new Refused(`\`${name}\` is required for ${asked.command}.`)
  return value
}

async function view(path: string, range: number[] | null | undefined, files: Workspace): Promise<Seen> {
  const seen = (content: Content[]): Seen => ({ content, prev_exist: true })
  if ((await files.stat(path)).kind === 'directory') {
    if (range) throw new Refused(`${path} is a directory: \`view_range\` is for files.`)
    return seen(said(await overview(path, files)))
  }
  const { bytes } = await files.read(path)
  const image = imageOf(path, bytes)
  if (image) return seen([...said(`The image ${path}:`), image])
  return seen(said(excerpt(path, textIn(path, bytes).content, range)))
}

function excerpt(path: string, content: string, range: number[] | null | undefined): string {
  const total = linesOf(content).length
  if (total === 0) return `${path} is empty.`
  const [first, to, ...others] = range ?? [1, -1]
  if (first === undefined || to === undefined || others.length > 0)
    throw new Refused('`view_range` is two numbers: the first and the last line.')
  const last = to === -1 ? total : Math.min(to, total)
  if (first < 1 || first > total || last < first)
    throw new Refused(`\`view_range\` [${first}, ${to}] is not in ${path}, which has lines 1 to ${total}.`)
  const shown = page(content, first, last)
  const head = range ? `Lines ${first} to ${shown.last} of ${total} of ${path}:` : `${path} (${total} lines):`
  const rest = shown.cut
    ? `\n[Line ${first} is too long to be shown whole. See the rest of it with cut -c in a terminal.]`
    : shown.last < last
      ? `\n[Shown up to line ${shown.last} of ${total}. See more with view_range [${shown.last + 1}, ${last}].]`
      : ''
  return `${head}\n${numbered(shown)}${rest}`
}

/** What stands in a directory and its folders, without what is hidden. */
async function overview(path: string, files: Workspace): Promise<string> {
  const { entries, truncated } = await tree(files, path, { depth: 2 })
  const names = entries
    .filter(({ name }) => !name.split('/').some(part => part.startsWith('.')))
    .map(({ name, isDirectory }) => `${name}${isDirectory ? '/' : ''}`)
    .sort()
  const shown = fitting(names, { count: 5 * NAMES_SHOWN, bytes: NAMES_BYTES })
  const more = truncated || shown.length < names.length ? `\n[${names.length - shown.length} more are not shown.]` : ''
  return `In ${path}, two levels deep, without hidden names:\n${shown.join('\n')}${more}`
}

function change(content: Content[], before: string | null, after: string | null, existed = before !== null): Seen {
  const [old_content, new_content] = recorded(before, after)
  return { content, prev_exist: existed, old_content, new_content }
}

function absent(path: string, content: string, wanted: string): string {
  const hint = nearest(content, wanted)
  return `\`old_str\` does not occur in ${path}, so nothing was changed.${hint ? ` ${hint}` : ' View the file first.'}`
}

function ambiguous(path: string, places: readonly { line: number }[]): string {
  const named = places.slice(0, PLACES_NAMED).map(({ line }) => line)
  const lines = `${named.join(', ')}${places.length > PLACES_NAMED ? ' and more' : ''}`
  return `\`old_str\` occurs more than once in ${path}, at lines ${lines}; nothing was changed. Include more of the lines around the one you mean.`
}
