import { posix } from 'node:path'
import * as z from 'zod'
import type { Tool } from '../tool.ts'
import { builtIn, said, spoken } from './built-in.ts'
import { NAMES_BYTES, NAMES_SHOWN } from './file-limits.ts'
import { Refused } from './refused.ts'
import { compare, facts, tree } from './search.ts'
import { fitting } from './view.ts'
import { attempt } from './workspace.ts'

const DESCRIPTION = `Lists what stands in a directory, hidden names too, with sizes and times of change.
With recursive everything below it, except that .git and node_modules are named but not entered. To find files by name, glob is the better tool.`

const Input = spoken(() =>
  z.object({
    dir_path: z.string().default('.').describe('The directory: absolute, or relative to the working directory.'),
    recursive: z.boolean().default(false).describe('Whether to list what stands in the folders below, too.'),
  }),
)

export const makeListDirectory = (): Tool =>
  builtIn({
    name: 'list_directory',
    kind: 'ListDirectoryTool',
    action: 'ListDirectoryAction',
    observation: 'ListDirectoryObservation',
    description: DESCRIPTION,
    input: Input,
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    run: ({ dir_path, recursive }, hands) => {
      const path = posix.resolve(hands.workingDir, dir_path)
      return attempt(
        hands,
        async files => {
          if ((await files.stat(path)).kind !== 'directory') throw new Refused(`${path} is not a directory.`)
          const below = await tree(files, path, recursive ? {} : { depth: 1 })
          const sorted = below.entries.map(({ name }) => name).sort(compare)
          const known = await facts(files, path, sorted.slice(0, NAMES_SHOWN))
          const all = known.flatMap((fact, index) => {
            const name = sorted[index]!
            return fact
              ? {
                  name: posix.basename(name),
                  path: posix.join(path, name),
                  is_directory: fact.isDirectory,
                  size: fact.size,
                  modified_time: timeOf(fact.modified),
                }
              : []
          })
          const entries = fitting(all, { count: NAMES_SHOWN, bytes: NAMES_BYTES })
          const is_truncated = below.truncated || entries.length < all.length || all.length < sorted.length
          const lines = entries.map(entry => {
            const name = posix.relative(path, entry.path)
            return entry.is_directory ? `${name}/` : `${name}  (${entry.size} bytes, ${entry.modified_time})`
          })
          const note = is_truncated
            ? [`[${entries.length} of ${sorted.length} are shown. List a folder below, or use glob.]`]
            : []
          return {
            kind: 'ListDirectoryObservation',
            content: said(sorted.length === 0 ? `${path} is empty.` : [`In ${path}:`, ...lines, ...note].join('\n')),
            is_error: false,
            dir_path: path,
            entries,
            total_count: sorted.length,
            is_truncated,
          }
        },
        why => ({
          kind: 'ListDirectoryObservation',
          content: said(why),
          is_error: true,
          dir_path: path,
          entries: [],
          total_count: 0,
          is_truncated: false,
        }),
      )
    },
  })

/** `2026-03-01 10:00:00.123456789` as events write times. */
const timeOf = (modified: string): string => {
  const [seconds, fraction = ''] = modified.split('.')
  return `${seconds!.replace(' ', 'T')}.${fraction.slice(0, 6).padEnd(6, '0')}`
}
