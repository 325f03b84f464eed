import { posix } from 'node:path'
import * as z from 'zod'
import type { Tool } from '../tool.ts'
import { builtIn, said, spoken } from './built-in.ts'
import { NAMES_BYTES, NAMES_SHOWN } from './file-limits.ts'
import { globPattern } from './glob-pattern.ts'
import { Refused } from './refused.ts'
import { extended } from './regex.ts'
import { latestFirst, matching, names, searching, tree } from './search.ts'
import { fitting } from './view.ts'
import { attempt, type Workspace } from './workspace.ts'

const DESCRIPTION = `Finds the files that have a line matching a regular expression, the latest changed first.
The pattern is matched against one line at a time, with attention to case unless it begins with (?i). Look-around is not supported; escape what is meant literally: "log\\.Error\\(". Binary files are left out; .git and node_modules are not searched unless the path leads into them.
The answer is paths: read the files to see the lines. To find files by name, use glob.`

/** What grep says with: of one batch of names. In the C locale bytes are text in any encoding. */
const BAD_PATTERN = 75
const GREP_SCRIPT = `
export LC_ALL=C
cd -P -- "$1" 2>/dev/null || exit 74
export pattern="$2" case=$3
echo | grep -E $case -e "$pattern" >/dev/null
[ $? -le 1 ] || exit ${BAD_PATTERN}
if printf x | grep -qIZs x 2>/dev/null; then
  xargs -0 grep -lIZs -E $case -e "$pattern" --
else
  xargs -0 sh -c 'for name; do
    grep -qs -E $case -e "$pattern" -- "$name" || continue
    [ "$(head -c 8192 -- "$name" | tr -dc "\\\\000" | wc -c)" -eq 0 ] && printf "%s\\0" "$name"
  done' sh
fi
exit 0
`

const Input = spoken(() =>
  z.object({
    pattern: z.string().min(1).describe('The regular expression.'),
    path: z.string().optional().describe('The directory or file to search; the working directory unless given.'),
    include: z
      .string()
      .optional()
      .describe('Only files that match this, such as "*.{ts,tsx}" (by name) or "src/**/*.py" (by path).'),
  }),
)

export const makeGrep = (): Tool =>
  builtIn({
    name: 'grep',
    kind: 'GrepTool',
    action: 'GrepAction',
    observation: 'GrepObservation',
    description: DESCRIPTION,
    input: Input,
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    run: ({ pattern, path, include }, hands) =>
      attempt(
        hands,
        async files => {
          const search_path = files.resolve(path ?? '.')
          const { all, more } = await search(files, search_path, pattern, include ?? undefined)
          const matches = fitting(all, { count: NAMES_SHOWN, bytes: NAMES_BYTES })
          const truncated = more || matches.length < all.length
          const text =
            all.length === 0
              ? `No file in ${search_path} has a line that matches.`
              : `${matches.join('\n')}${truncated ? `\n[${matches.length} of ${all.length}${more ? ' or more' : ''} files are shown. Use a narrower pattern, path or include.]` : ''}`
          return {
            kind: 'GrepObservation',
            content: said(text),
            is_error: false,
            matches,
            pattern,
            search_path,
            include_pattern: include ?? null,
            truncated,
          }
        },
        why => ({
          kind: 'GrepObservation',
          content: said(why),
          is_error: true,
          matches: [],
          pattern,
          search_path: posix.resolve(hands.workingDir, path ?? '.'),
          include_pattern: include ?? null,
          truncated: false,
        }),
      ),
  })

async function search(files: Workspace, path: string, pattern: string, include?: string) {
  const regex = extended(pattern)
  if ('refused' in regex) throw new Refused(`The pattern cannot be used. ${regex.refused}`)
  const { kind } = await files.stat(path)
  if (kind === 'other') throw new Refused(`${path} is neither a file nor a directory.`)
  const root = kind === 'directory' ? path : posix.dirname(path)
  const below =
    kind === 'directory'
      ? await tree(files, root, { types: ['f'] })
      : { entries: [{ name: posix.basename(path), isDirectory: false }], truncated: false }
  const wanted = include === undefined ? '**' : include.includes('/') ? include : `**/${include}`
  const matches = globPattern(wanted)
  if (!matches) throw new Refused('`include` is too long, or its braces come to too many alternatives.')
  const input = (await matching(files, below.entries, matches)).map(name => `./${name}\0`).join('')
  const args = [root, regex.pattern, regex.ignoreCase ? '-i' : '']
  const { code, stdout, stderr, overflow } = await searching(files, GREP_SCRIPT, args, input)
  if (code === BAD_PATTERN) throw new Refused(`The pattern is not a regular expression: ${reason(stderr)}`)
  const found = [...names(stdout)].filter(name => name !== undefined).map(name => name.slice('./'.length))
  const all = (await latestFirst(files, root, found)).map(name => posix.join(root, name))
  return { all, more: below.truncated || overflow }
}

const reason = (complaint: Buffer): string =>
  complaint
    .toString()
    .trim()
    .replace(/^.*?grep: /, '')
