import * as z from 'zod'
import { DelegateCommand, EditorCommand, TaskItem } from './actions.ts'
import { Content, dateTimeOut, nullishText } from './common.ts'

// What we emit: complete and without a key more, for readers reject unknown keys. Null fields may be left out.

const observation = <const K extends string, S extends z.ZodRawShape>(kind: K, shape: S) =>
  z
    .strictObject({ content: z.array(Content), is_error: z.boolean(), ...shape, kind: z.literal(kind) })
    .meta({ id: kind })

const edited = {
  command: EditorCommand,
  path: nullishText,
  prev_exist: z.boolean(),
  old_content: nullishText,
  new_content: nullishText,
}

export const CmdOutputMetadata = z
  .object({
    exit_code: z.int(),
    pid: z.int(),
    username: nullishText,
    hostname: nullishText,
    working_dir: nullishText,
    py_interpreter_path: nullishText,
    prefix: z.string(),
    suffix: z.string(),
  })
  .meta({ id: 'CmdOutputMetadata' })
export type CmdOutputMetadata = z.output<typeof CmdOutputMetadata>

const FileEntry = z
  .object({
    name: z.string(),
    path: z.string(),
    is_directory: z.boolean(),
    size: z.int(),
    modified_time: dateTimeOut,
  })
  .meta({ id: 'FileEntry' })

const FileChange = z
  .object({
    type: z.enum(['add', 'delete', 'update']).meta({ id: 'ActionType' }),
    old_content: nullishText,
    new_content: nullishText,
    move_path: nullishText,
  })
  .meta({ id: 'FileChange' })

const Commit = z.object({ changes: z.record(z.string(), FileChange) }).meta({ id: 'Commit' })

export const TerminalObservation = observation('TerminalObservation', {
  command: z.string().nullable(),
  /** -1 while the command still runs. */
  exit_code: z.int().nullish(),
  timeout: z.boolean(),
  metadata: CmdOutputMetadata,
  full_output_save_dir: nullishText,
})
export type TerminalObservation = z.output<typeof TerminalObservation>

export const FileEditorObservation = observation('FileEditorObservation', edited)
export type FileEditorObservation = z.output<typeof FileEditorObservation>

export const Observation = z
  .discriminatedUnion('kind', [
    TerminalObservation,
    FileEditorObservation,
    observation('PlanningFileEditorObservation', edited),
    observation('TaskTrackerObservation', { command: z.enum(['view', 'plan']), task_list: z.array(TaskItem) }),
    observation('FinishObservation', {}),
    observation('ThinkObservation', {}),
    observation('GlobObservation', {
      files: z.array(z.string()),
      pattern: z.string(),
      search_path: z.string(),
      truncated: z.boolean(),
    }),
    observation('GrepObservation', {
      /** Paths of files. */
      matches: z.array(z.string()),
      pattern: z.string(),
      search_path: z.string(),
      include_pattern: nullishText,
      truncated: z.boolean(),
    }),
    observation('ReadFileObservation', {
      file_path: z.string(),
      file_content: z.string(),
      is_truncated: z.boolean(),
      lines_shown: z.tuple([z.int(), z.int()]).nullish(),
      total_lines: z.int().nullish(),
    }),
    observation('WriteFileObservation', {
      file_path: nullishText,
      is_new_file: z.boolean(),
      old_content: nullishText,
      new_content: nullishText,
    }),
    observation('EditObservation', {
      file_path: nullishText,
      is_new_file: z.boolean(),
      replacements_made: z.int(),
      old_content: nullishText,
      new_content: nullishText,
    }),
    observation('ListDirectoryObservation', {
      dir_path: nullishText,
      entries: z.array(FileEntry),
      total_count: z.int(),
      is_truncated: z.boolean(),
    }),
    observation('ApplyPatchObservation', { message: z.string(), fuzz: z.int(), commit: Commit.nullish() }),
    observation('TaskObservation', { task_id: z.string(), subagent: z.string(), status: z.string() }),
    observation('WorkflowObservation', { name: z.string(), status: z.enum(['completed', 'error']) }),
    observation('DelegateObservation', { command: DelegateCommand }),
    observation('InvokeSkillObservation', { skill_name: z.string() }),
    observation('SwitchLLMObservation', { profile_name: z.string(), reason: nullishText, active_model: nullishText }),
    observation('VisionInspectObservation', {
      image_index: z.int(),
      question: z.string(),
      profile_name: nullishText,
      model: nullishText,
      base_url: nullishText,
      answer: nullishText,
    }),
    observation('BrowserObservation', {
      /** Base64. */
      screenshot_data: nullishText,
      full_output_save_dir: nullishText,
    }),
    observation('MCPToolObservation', { tool_name: z.string() }),
    observation('ClientToolObservation', {}),
  ])
  .meta({ id: 'Observation' })
export type Observation = z.output<typeof Observation>
