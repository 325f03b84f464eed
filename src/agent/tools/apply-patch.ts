import * as z from 'zod'
import type { Observation } from '../../api/observations.ts'
import type { Tool } from '../tool.ts'
import { builtIn, said, spoken } from './built-in.ts'
import { NAMES_BYTES, NAMES_SHOWN, RECORD_BYTES } from './file-limits.ts'
import { applyHunks, parsePatch, type Step } from './patch.ts'
import { Refused } from './refused.ts'
import { decode } from './text.ts'
import { fitting } from './view.ts'
import { attempt, encoded, type Workspace } from './workspace.ts'

const DESCRIPTION = `Changes several files at once: either all of the patch is applied or none of it.
*** Begin Patch
*** Add File: notes.txt
+every line of a new file after a plus
*** Update File: src/old.py
*** Move to: src/new.py
@@ def greet():
 a line that stays, after a space
-a line that goes
+a line that comes
*** Delete File: junk.txt
*** End Patch
Give about three lines that stay before and after each change, exactly as in the file; when they occur more than once, name the function or class they are in after @@. Hunks of a file go from top to bottom. "Move to" is optional. "*** End of File" after a hunk says that it is about the last lines.`

type Applied = Extract<Observation, { kind: 'ApplyPatchObservation' }>
type Commit = NonNullable<Applied['commit']>

/** A step that was found possible, and what it will make of the file. */
interface Change {
  type: Step['type']
  /** As the patch names it. */
  name: string
  path: string
  movePath: string | undefined
  before: { bytes: Buffer; mode: number } | undefined
  after: { bytes: Buffer; content: string } | undefined
}

const Input = spoken(() =>
  z.object({
    patch: z
      .string()
      .describe('The patch, from "*** Begin Patch" to "*** End Patch". Paths are relative to the working directory.'),
  }),
)

export const makeApplyPatch = (): Tool =>
  builtIn({
    name: 'apply_patch',
    action: 'ApplyPatchAction',
    observation: 'ApplyPatchObservation',
    description: DESCRIPTION,
    input: Input,
    annotations: { openWorldHint: false },
    run: ({ patch }, hands) =>
      attempt(
        hands,
        async (files): Promise<Applied> => {
          const { changes, fuzz } = await prepare(files, parsePatch(patch))
          await carryOut(files, changes)
          const lines = fitting(changes.map(describe), { count: NAMES_SHOWN, bytes: NAMES_BYTES })
          const more = lines.length < changes.length ? [`and ${changes.length - lines.length} more`] : []
          const message = [...lines, ...more, ...(fuzz > 0 ? [GUESSED] : [])].join('\n')
          return {
            kind: 'ApplyPatchObservation',
            content: said(message),
            is_error: false,
            message,
            fuzz,
            commit: commitOf(changes),
          }
        },
        (why): Applied => ({
          kind: 'ApplyPatchObservation',
          content: said(why),
          is_error: true,
          message: why,
          fuzz: 0,
        }),
      ),
  })

const GUESSED = 'Some lines of the patch were found only with other white space, or elsewhere: check the result.'

/** Finds out whether every step is possible, and changes nothing. */
async function prepare(files: Workspace, steps: readonly Step[]): Promise<{ changes: Change[]; fuzz: number }> {
  const touched = new Set<string>()
  const touch = (path: string): string => {
    const resolved = files.resolve(path)
    if (touched.has(resolved)) throw new Refused(`The patch names ${path} twice. Put all its hunks in one place.`)
    touched.add(resolved)
    return resolved
  }
  const changes: Change[] = []
  let fuzz = 0
  for (const step of steps) {
    const path = touch(step.path)
    const change = { type: step.type, name: step.path, path, movePath: undefined, before: undefined, after: undefined }
    if (step.type === 'add') {
      await mustBeFree(files, path)
      const { content } = step
      changes.push({ ...change, after: { bytes: encoded(path, { content, encoding: 'utf-8' }), content } })
    } else if (step.type === 'delete') {
      const { bytes, info } = await files.read(path)
      changes.push({ ...change, before: { bytes, mode: info.mode } })
    } else {
      const { bytes, info, content, encoding } = await files.readText(path)
      const applied = applyHunks(path, content, step.hunks)
      const movePath = step.moveTo === undefined || files.resolve(step.moveTo) === path ? undefined : touch(step.moveTo)
      if (movePath !== undefined) await mustBeFree(files, movePath)
      const after = { content: applied.content, bytes: encoded(path, { content: applied.content, encoding }) }
      changes.push({ ...change, movePath, before: { bytes, mode: info.mode }, after })
      fuzz += applied.fuzz
    }
  }
  return { changes, fuzz }
}

async function mustBeFree(files: Workspace, path: string): Promise<void> {
  if (await files.look(path)) throw new Refused(`${path} exists already, so nothing was changed.`)
}

/** Makes all changes; when one cannot be made, those before it are taken back. */
async function carryOut(files: Workspace, changes: readonly Change[]): Promise<void> {
  const back: (() => Promise<void>)[] = []
  try {
    for (const { path, movePath, before, after } of changes) {
      const target = movePath ?? path
      if (after) {
        back.push(() => (before && !movePath ? files.restore(target, before) : files.remove(target)))
        await files.write(target, after.bytes)
        if (before && movePath) await files.setMode(target, before.mode)
      }
      if (before && (movePath || !after)) {
        back.push(() => files.restore(path, before))
        await files.remove(path)
      }
    }
  } catch (error) {
    const lost: string[] = []
    for (const undo of back.reverse()) await undo().catch((failure: Error) => lost.push(failure.message))
    if (lost.length > 0)
      throw new Refused(
        `${(error as Error).message}. Not everything could be taken back: ${lost.join('; ').slice(0, 1000)}`,
      )
    throw error
  }
}

const VERBS = { add: 'Added', delete: 'Deleted', update: 'Updated' } as const

const describe = ({ type, name, movePath }: Change): string =>
  `${VERBS[type]} ${name}${movePath ? `, now ${movePath}` : ''}`

/** Without contents when an event could not hold them; null when not even that is enough. */
function commitOf(changes: readonly Change[]): Commit | null {
  const commit = (contents: boolean): Commit => ({
    changes: Object.fromEntries(
      changes.map(({ type, name, movePath, before, after }) => [
        name,
        {
          type,
          old_content: contents && before ? (decode(before.bytes)?.content ?? null) : null,
          new_content: contents && after ? after.content : null,
          move_path: movePath ?? null,
        },
      ]),
    ),
  })
  return [commit(true), commit(false)].find(one => Buffer.byteLength(JSON.stringify(one)) <= RECORD_BYTES) ?? null
}
