import { posix } from 'node:path'
import * as z from 'zod'
import type { Tool } from '../tool.ts'
import { builtIn, said, spoken } from './built-in.ts'
import { Refused } from './refused.ts'
import { page } from './view.ts'
import { attempt } from './workspace.ts'

const DESCRIPTION = `Reads a text file, all of it or some lines.
A long file comes in parts: when the answer says that it is cut, read on with offset. To search for something, use grep first.`

const Input = spoken(() =>
  z.object({
    file_path: z.string().describe('The file: absolute, or relative to the working directory.'),
    offset: z.int().min(0).optional().describe('How many lines to leave out at the beginning; 0 unless given.'),
    limit: z.int().min(1).optional().describe('How many lines to read; as many as fit unless given.'),
  }),
)

export const makeReadFile = (): Tool =>
  builtIn({
    name: 'read_file',
    kind: 'ReadFileTool',
    action: 'ReadFileAction',
    observation: 'ReadFileObservation',
    description: DESCRIPTION,
    input: Input,
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    run: ({ file_path, offset, limit }, hands) => {
      const path = posix.resolve(hands.workingDir, file_path)
      return attempt(
        hands,
        async files => {
          const { content } = await files.readText(path)
          const from = offset ?? 0
          const { lines, last, total, cut } = page(content, from + 1, from + (limit ?? Infinity))
          if (from > 0 && from >= total) throw new Refused(`\`offset\` is ${from}, but ${path} has ${total} lines.`)
          const is_truncated = cut || last < total || from > 0
          const file_content = from === 0 && !is_truncated ? content : lines.join('\n')
          const note = cut
            ? `[Line ${last} is too long to be shown whole. See the rest of it with cut -c in a terminal.]`
            : `[Lines ${from + 1} to ${last} of ${total}.${last < total ? ` Read on with offset ${last}.` : ''}]`
          const text = total === 0 ? `[${path} is empty.]` : is_truncated ? `${file_content}\n${note}` : file_content
          return {
            kind: 'ReadFileObservation',
            content: said(text),
            is_error: false,
            file_path: path,
            file_content,
            is_truncated,
            lines_shown: total === 0 ? null : [from + 1, last],
            total_lines: total,
          }
        },
        why => ({
          kind: 'ReadFileObservation',
          content: said(why),
          is_error: true,
          file_path: path,
          file_content: '',
          is_truncated: false,
        }),
      )
    },
  })
