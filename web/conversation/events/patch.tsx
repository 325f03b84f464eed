import { compare } from '../../ui/diff-rows.ts'
import { plural, t } from '../../words.ts'
import { Counts, diffText, FileChanges, FileText } from './file-parts.tsx'
import type { ActionOf, Looks, ObservationOf } from './look.tsx'

/** Several files at once: each as it was and became, or the patch itself where that is not known. */
export const patchLook: Looks[string] = (event, result) => {
  const { patch } = event.action as ActionOf<'ApplyPatchAction'>
  const seen = result?.observation as ObservationOf<'ApplyPatchObservation'> | undefined
  const files = Object.entries(seen?.commit?.changes ?? {}).map(([path, { old_content, new_content, move_path }]) => ({
    name: move_path ? `${path} → ${move_path}` : path,
    changes: compare(old_content ?? '', new_content ?? ''),
  }))
  const [only] = files
  return {
    icon: 'edit',
    words:
      files.length === 1
        ? [{ text: t('Edit') }, { text: only!.name, isCode: true }]
        : [
            {
              text: files.length > 0 ? plural(files.length, 'Edit {n} file', 'Edit {n} files') : t('Apply a patch'),
            },
          ],
    chips: (
      <Counts
        added={files.reduce((sum, { changes }) => sum + (changes?.added ?? 0), 0)}
        removed={files.reduce((sum, { changes }) => sum + (changes?.removed ?? 0), 0)}
      />
    ),
    isOpen: true,
    tellsResult: files.length > 0,
    body: () =>
      files.length === 0 ? (
        <FileText id={event.id} name="patch.diff" text={patch} />
      ) : (
        files.map(({ name, changes }) => (
          <div key={name} class="patched">
            {files.length > 1 && <code>{name}</code>}
            <FileChanges name={name} changes={changes} text={changes ? diffText(changes) : patch} />
          </div>
        ))
      ),
  }
}
