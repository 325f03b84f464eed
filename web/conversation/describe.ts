import type { ActionEvent } from '../../src/api/events.ts'
import { t } from '../words.ts'

/** An action as a person reads it before saying yes: what it is, and word for word what will be done. */
export interface Description {
  title: string
  /** Exactly what will run or be written. */
  exact: string
  /** Of `exact`, for colours: a language or a file name. */
  language: string
}

type Action = NonNullable<ActionEvent['action']>
type Fields = Record<string, unknown>

const text = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value, null, 2))

const EDITS: Record<string, (fields: Fields) => Description> = {
  view: ({ path }) => ({ title: t('Read {path}', { path: text(path) }), exact: text(path), language: '' }),
  create: ({ path, file_text }) => ({
    title: t('Write {path}', { path: text(path) }),
    exact: text(file_text ?? ''),
    language: text(path),
  }),
  str_replace: ({ path, old_str, new_str }) => ({
    title: t('Edit {path}', { path: text(path) }),
    exact: replaced(old_str, new_str),
    language: 'diff',
  }),
  insert: ({ path, insert_line, new_str }) => ({
    title: t('Insert after line {line} of {path}', { line: text(insert_line), path: text(path) }),
    exact: text(new_str ?? ''),
    language: text(path),
  }),
  undo_edit: ({ path }) => ({
    title: t('Undo the last edit of {path}', { path: text(path) }),
    exact: text(path),
    language: '',
  }),
}

const lines = (sign: string, value: unknown): string =>
  text(value ?? '')
    .split('\n')
    .map(line => `${sign}${line}`)
    .join('\n')

const replaced = (before: unknown, after: unknown): string => `${lines('-', before)}\n${lines('+', after)}`

const KINDS: Record<string, (fields: Fields) => Description> = {
  TerminalAction: ({ command, is_input, reset }) => ({
    title: reset ? t('Restart the terminal') : is_input ? t('Type into the running program') : t('Run a command'),
    exact: text(command),
    language: 'bash',
  }),
  FileEditorAction: fields => EDITS[text(fields.command)]!(fields),
  PlanningFileEditorAction: fields => EDITS[text(fields.command)]!(fields),
  WriteFileAction: ({ file_path, content }) => ({
    title: t('Write {path}', { path: text(file_path) }),
    exact: text(content),
    language: text(file_path),
  }),
  EditAction: ({ file_path, old_string, new_string }) => ({
    title: t('Edit {path}', { path: text(file_path) }),
    exact: replaced(old_string, new_string),
    language: 'diff',
  }),
  ApplyPatchAction: ({ patch }) => ({ title: t('Apply a patch'), exact: text(patch), language: 'diff' }),
  TaskAction: ({ subagent_type, prompt }) => ({
    title: t('Hand a task to the sub-agent {name}', { name: text(subagent_type) }),
    exact: text(prompt),
    language: 'markdown',
  }),
}

export function describe({ action, tool_name, tool_call }: ActionEvent): Description {
  const known = action && KINDS[(action as Action).kind]
  if (known) return known(action as Fields)
  const { kind: _, ...fields } = (action ?? {}) as Fields
  const exact = action ? text('data' in fields ? fields.data : fields) : (tool_call.arguments ?? '')
  return { title: t('Use the tool {name}', { name: tool_name }), exact, language: 'json' }
}
