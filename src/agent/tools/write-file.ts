import { posix } from 'node:path'
import * as z from 'zod'
import type { Tool } from '../tool.ts'
import { builtIn, said, spoken } from './built-in.ts'
import { Refused } from './refused.ts'
import { decode, encode, lineEnd, type Text, withEnds } from './text.ts'
import { attempt, recorded } from './workspace.ts'

const DESCRIPTION = `Writes a whole text file, with its folders; what was in it before is replaced.
Read an existing file first: everything that is not in content is lost; only its encoding, line ends and permissions are kept. To change a part of a file, use edit.`

const Input = spoken(() =>
  z.object({
    file_path: z.string().describe('The file: absolute, or relative to the working directory.'),
    content: z.string().describe('All that will be in the file.'),
  }),
)

export const makeWriteFile = (): Tool =>
  builtIn({
    name: 'write_file',
    kind: 'WriteFileTool',
    action: 'WriteFileAction',
    observation: 'WriteFileObservation',
    description: DESCRIPTION,
    input: Input,
    annotations: { openWorldHint: false },
    run: ({ file_path, content }, hands) => {
      const path = posix.resolve(hands.workingDir, file_path)
      return attempt(
        hands,
        async files => {
          const info = await files.look(path)
          if (info && info.kind !== 'file') throw new Refused(`${path} is not a file.`)
          const old = info ? await files.peek(path) : undefined
          const text = old && decode(old)
          const after = replacing(text, content)
          await files.writeText(path, after)
          const [old_content, new_content] = recorded(text?.content ?? null, after.content)
          return {
            kind: 'WriteFileObservation',
            content: said(`${info ? 'Replaced' : 'Created'} ${path}.`),
            is_error: false,
            file_path: path,
            is_new_file: !info,
            old_content,
            new_content,
          }
        },
        why => ({
          kind: 'WriteFileObservation',
          content: said(why),
          is_error: true,
          file_path: path,
          is_new_file: false,
        }),
      )
    },
  })

/** The new content as the old one was written, as far as that can hold it. */
function replacing(old: Text | undefined, content: string): Text {
  const hasEnds = !old || content.includes('\r\n')
  const text = {
    content: hasEnds ? content : withEnds(content, lineEnd(old.content)),
    encoding: old?.encoding ?? 'utf-8',
  }
  return encode(text) ? text : { ...text, encoding: 'utf-8' }
}
