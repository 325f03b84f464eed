import { compare } from '../../ui/diff-rows.ts'
import { t } from '../../words.ts'
import { Counts, diffText, FileChanges, FileText } from './file-parts.tsx'
import type { ActionOf, Look, Looks, ObservationOf } from './look.tsx'
import { patchLook } from './patch.tsx'

type Texts = { old_content?: string | null; new_content?: string | null } | undefined

/** The whole file before and after, where it was kept; the part that was to be replaced otherwise. */
const textsOf = (seen: Texts, old: string, now: string): [before: string, after: string] =>
  seen?.new_content != null ? [seen.old_content ?? '', seen.new_content] : [old, now]

function written(id: string, path: string, text: string): Look {
  const lines = text === '' ? 0 : text.replace(/\n$/, '').split('\n').length
  return {
    icon: 'file',
    words: [{ text: t('Write') }, { text: path, isPath: true }],
    chips: <Counts added={lines} removed={0} />,
    isOpen: true,
    tellsResult: true,
    body: () => <FileText id={id} name={path} text={text} />,
  }
}

function edited(verb: string, path: string, [before, after]: [string, string]): Look {
  const changes = compare(before, after)
  return {
    icon: 'edit',
    words: [{ text: verb }, { text: path, isPath: true }],
    chips: changes && <Counts added={changes.added} removed={changes.removed} />,
    isOpen: true,
    tellsResult: true,
    body: () => <FileChanges name={path} changes={changes} text={changes ? diffText(changes) : after} />,
  }
}

const read = (path: string, range: string): Look => ({
  icon: 'eye',
  words: [{ text: t('Read') }, { text: path, isPath: true }, ...(range ? [{ text: range }] : [])],
  isOpen: false,
  tellsResult: false,
})

const rangeWords = (from: number, to: number): string =>
  to < from ? t('from line {from}', { from }) : t('lines {from} to {to}', { from, to })

const editor: Looks[string] = (event, result) => {
  const action = event.action as ActionOf<'FileEditorAction'>
  const seen = result?.observation as ObservationOf<'FileEditorObservation'> | undefined
  const { path, command, old_str, new_str, file_text, view_range: range } = action
  if (command === 'view') return read(path, range?.length === 2 ? rangeWords(range[0]!, range[1]!) : '')
  if (command === 'create' && !seen?.old_content) return written(event.id, path, file_text ?? '')
  const verb = command === 'undo_edit' ? t('Undo the last edit of') : t('Edit')
  return edited(verb, path, textsOf(seen, old_str ?? '', new_str ?? file_text ?? ''))
}

export const fileLooks: Looks = {
  FileEditorAction: editor,
  PlanningFileEditorAction: editor,
  ApplyPatchAction: patchLook,
  ReadFileAction: event => {
    const { file_path, offset, limit } = event.action as ActionOf<'ReadFileAction'>
    const from = (offset ?? 0) + 1
    return read(file_path, offset || limit ? rangeWords(from, limit ? from + limit - 1 : 0) : '')
  },
  WriteFileAction: (event, result) => {
    const { file_path, content } = event.action as ActionOf<'WriteFileAction'>
    const seen = result?.observation as ObservationOf<'WriteFileObservation'> | undefined
    if (!seen?.old_content) return written(event.id, file_path, content)
    return edited(t('Write'), file_path, [seen.old_content, content])
  },
  EditAction: (event, result) => {
    const { file_path, old_string, new_string } = event.action as ActionOf<'EditAction'>
    const seen = result?.observation as ObservationOf<'EditObservation'> | undefined
    return edited(t('Edit'), file_path, textsOf(seen, old_string, new_string))
  },
}
