import { posix } from 'node:path'
import * as z from 'zod'
import type { Tool } from '../tool.ts'
import { builtIn, said, spoken } from './built-in.ts'
import { NAMES_BYTES, NAMES_SHOWN } from './file-limits.ts'
import { globPattern, splitBase } from './glob-pattern.ts'
import { Refused } from './refused.ts'
import { latestFirst, matching, tree } from './search.ts'
import { fitting } from './view.ts'
import { attempt } from './workspace.ts'

const DESCRIPTION = `Finds files by name, the latest changed first.
Patterns: * and ? within a name, [a-z], {ts,tsx}, and ** for any number of folders: "src/**/*.test.ts". A pattern without ** looks in one folder only; use "**/*.py" to look below it too. Hidden files match; .git and node_modules are not searched unless the pattern or the path leads into them.
To search in what files contain, use grep.`

const Input = spoken(() =>
  z.object({
    pattern: z.string().min(1).describe('What the path of a file must look like, below `path`. May be absolute.'),
    path: z.string().optional().describe('The directory to search; the working directory unless given.'),
  }),
)

export const makeGlob = (): Tool =>
  builtIn({
    name: 'glob',
    kind: 'GlobTool',
    action: 'GlobAction',
    observation: 'GlobObservation',
    description: DESCRIPTION,
    input: Input,
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    run: ({ pattern, path }, hands) =>
      attempt(
        hands,
        async files => {
          const { base, rest } = splitBase(pattern)
          const search_path = files.resolve(path ?? '.')
          const root = posix.resolve(search_path, base)
          const matches = globPattern(rest)
          if (!matches) throw new Refused('The pattern is too long, or its braces come to too many alternatives.')
          const isFolder = (await files.stat(root)).kind === 'directory'
          if (!isFolder) throw new Refused(`${root} is not a directory.`)
          const deep = rest.includes('/') || rest.includes('**')
          const below = await tree(files, root, { types: ['f', 'l'], ...(!deep && { depth: 1 }) })
          const found = await latestFirst(files, root, await matching(files, below.entries, matches))
          const all = found.map(name => posix.join(root, name))
          const shown = fitting(all, { count: NAMES_SHOWN, bytes: NAMES_BYTES })
          const truncated = below.truncated || shown.length < all.length
          const hint = deep ? '' : ` With **/${rest} folders below are searched too.`
          const text =
            all.length === 0
              ? `No file in ${root} matches ${rest}.${hint}`
              : `${shown.join('\n')}${truncated ? `\n[${shown.length} of ${all.length}${below.truncated ? ' or more' : ''} are shown. Use a narrower pattern.]` : ''}`
          return {
            kind: 'GlobObservation',
            content: said(text),
            is_error: false,
            files: shown,
            pattern,
            search_path,
            truncated,
          }
        },
        why => ({
          kind: 'GlobObservation',
          content: said(why),
          is_error: true,
          files: [],
          pattern,
          search_path: posix.resolve(hands.workingDir, path ?? '.'),
          truncated: false,
        }),
      ),
  })
