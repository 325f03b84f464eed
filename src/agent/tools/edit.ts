import { posix } from 'node:path'
import * as z from 'zod'
import type { Tool } from '../tool.ts'
import { builtIn, said, spoken } from './built-in.ts'
import { Refused } from './refused.ts'
import { nearest, placesOf, replaceAt } from './replace.ts'
import { linesOf } from './text.ts'
import { snippet } from './view.ts'
import { attempt, recorded, type Workspace } from './workspace.ts'

const DESCRIPTION = `Replaces text in a file.
old_string must be exactly what stands there, with its indentation, and occur as often as expected_replacements says: once, unless given. Include enough lines around it to be sure. An empty old_string makes a new file of new_string. Read the file first.`

/** More than anybody replaces at once. */
const REPLACEMENTS = 10_000

const Input = spoken(() =>
  z.object({
    file_path: z.string().describe('The file: absolute, or relative to the working directory.'),
    old_string: z.string().describe('The text to replace; empty to make a new file.'),
    new_string: z.string().describe('What takes its place; empty to delete it.'),
    expected_replacements: z
      .int()
      .min(0)
      .default(1)
      .describe('How often old_string occurs: all of them are replaced. 0 replaces however many there are.'),
  }),
)

export const makeEdit = (): Tool =>
  builtIn({
    name: 'edit',
    kind: 'EditTool',
    action: 'EditAction',
    observation: 'EditObservation',
    description: DESCRIPTION,
    input: Input,
    annotations: { openWorldHint: false },
    run: ({ file_path, old_string, new_string, expected_replacements }, hands) => {
      const path = posix.resolve(hands.workingDir, file_path)
      return attempt(
        hands,
        async files => {
          const done =
            old_string === ''
              ? await create(files, path, new_string)
              : await replace(files, path, old_string, new_string, expected_replacements)
          const [old_content, new_content] = recorded(done.before, done.after)
          return {
            kind: 'EditObservation',
            content: said(done.text),
            is_error: false,
            file_path: path,
            is_new_file: done.before === null,
            replacements_made: done.replacements,
            old_content,
            new_content,
          }
        },
        why => ({
          kind: 'EditObservation',
          content: said(why),
          is_error: true,
          file_path: path,
          is_new_file: false,
          replacements_made: 0,
        }),
      )
    },
  })

async function create(files: Workspace, path: string, content: string) {
  if (await files.look(path)) throw new Refused(`${path} exists already. Give the text to replace in old_string.`)
  await files.writeText(path, { content, encoding: 'utf-8' })
  return { text: `Created ${path}.`, before: null, after: content, replacements: 0 }
}

async function replace(files: Workspace, path: string, wanted: string, replacement: string, expected: number) {
  const { content: before, encoding } = await files.readText(path)
  const places = placesOf(before, wanted, { limit: REPLACEMENTS + 1, overlapping: false })
  const [first] = places
  if (!first) {
    const hint = nearest(before, wanted)
    throw new Refused(`old_string does not occur in ${path}, so nothing was changed.${hint && ` ${hint}`}`)
  }
  if (places.length > REPLACEMENTS)
    throw new Refused(`old_string occurs more than ${REPLACEMENTS} times in ${path}. Use a script for that.`)
  if (expected !== 0 && places.length !== expected) {
    const lines = places.slice(0, 10).map(({ line }) => line)
    throw new Refused(
      `old_string occurs ${places.length} times in ${path}, not ${expected}; nothing was changed. It begins at lines ${lines.join(', ')}${places.length > 10 ? ' and more' : ''}. Say how many are meant, or include more lines.`,
    )
  }
  const after = replaceAt(before, places, replacement)
  if (after === before) throw new Refused(`new_string is what stands there already: ${path} is unchanged.`)
  await files.writeText(path, { content: after, encoding })
  const shown = snippet(after, first.line, first.line + linesOf(replacement).length - 1)
  const times = places.length === 1 ? 'once' : `${places.length} times, first`
  return { text: `Replaced it in ${path} ${times} here:\n${shown}`, before, after, replacements: places.length }
}
