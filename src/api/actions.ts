import * as z from 'zod'
import { anyMap, nullishText } from './common.ts'

// What we emit: complete and without a key more, for readers reject unknown keys. Null fields may be left out.

const action = <const K extends string, S extends z.ZodRawShape>(kind: K, shape: S) =>
  z.strictObject({ ...shape, kind: z.literal(kind) }).meta({ id: kind })

const index = () => z.int().min(0)

export const EditorCommand = z.enum(['view', 'create', 'str_replace', 'insert', 'undo_edit'])
const editor = {
  command: EditorCommand,
  path: z.string(),
  file_text: nullishText,
  old_str: nullishText,
  new_str: nullishText,
  insert_line: index().nullish(),
  view_range: z.array(z.int()).nullish(),
}

export const TaskItem = z
  .object({ title: z.string(), notes: z.string(), status: z.enum(['todo', 'in_progress', 'done']) })
  .meta({ id: 'TaskItem' })
export type TaskItem = z.output<typeof TaskItem>

export const DelegateCommand = z.enum(['spawn', 'delegate'])

export const TerminalAction = action('TerminalAction', {
  command: z.string(),
  is_input: z.boolean(),
  /** Seconds. */
  timeout: z.number().min(0).nullish(),
  reset: z.boolean(),
})
export type TerminalAction = z.output<typeof TerminalAction>

export const FileEditorAction = action('FileEditorAction', editor)
export type FileEditorAction = z.output<typeof FileEditorAction>

export const BuiltInAction = z.discriminatedUnion('kind', [
  TerminalAction,
  FileEditorAction,
  action('PlanningFileEditorAction', editor),
  action('TaskTrackerAction', { command: z.enum(['view', 'plan']), task_list: z.array(TaskItem) }),
  action('FinishAction', { message: z.string() }),
  action('ThinkAction', { thought: z.string() }),
  action('GlobAction', { pattern: z.string(), path: nullishText }),
  action('GrepAction', { pattern: z.string(), path: nullishText, include: nullishText }),
  action('ReadFileAction', { file_path: z.string(), offset: index().nullish(), limit: z.int().min(1).nullish() }),
  action('WriteFileAction', { file_path: z.string(), content: z.string() }),
  action('EditAction', {
    file_path: z.string(),
    old_string: z.string(),
    new_string: z.string(),
    expected_replacements: index(),
  }),
  action('ListDirectoryAction', { dir_path: z.string(), recursive: z.boolean() }),
  action('ApplyPatchAction', { patch: z.string() }),
  action('TaskAction', {
    description: nullishText,
    prompt: z.string(),
    subagent_type: z.string(),
    resume: nullishText,
  }),
  action('WorkflowAction', { name: z.string(), script: z.string(), max_concurrency: z.int().min(1).max(64) }),
  action('DelegateAction', {
    command: DelegateCommand,
    ids: z.array(z.string()).nullish(),
    agent_types: z.array(z.string()).nullish(),
    tasks: z.record(z.string(), z.string()).nullish(),
  }),
  action('InvokeSkillAction', { name: z.string() }),
  action('SwitchLLMAction', { profile_name: z.string(), reason: z.string() }),
  action('VisionInspectAction', { image_index: index(), question: z.string().min(1), profile_name: nullishText }),
  action('BrowserNavigateAction', { url: z.string(), new_tab: z.boolean() }),
  action('BrowserClickAction', { index: index(), new_tab: z.boolean() }),
  action('BrowserTypeAction', { index: index(), text: z.string() }),
  action('BrowserScrollAction', { direction: z.enum(['up', 'down']) }),
  action('BrowserGetStateAction', { include_screenshot: z.boolean() }),
  action('BrowserGetContentAction', { extract_links: z.boolean(), start_from_char: index() }),
  action('BrowserGoBackAction', {}),
  action('BrowserListTabsAction', {}),
  action('BrowserSwitchTabAction', { tab_id: z.string() }),
  action('BrowserCloseTabAction', { tab_id: z.string() }),
  action('BrowserGetStorageAction', {}),
  action('BrowserSetStorageAction', { storage_state: anyMap }),
  action('BrowserStartRecordingAction', {}),
  action('BrowserStopRecordingAction', {}),
  action('MCPToolAction', { data: anyMap }),
])

/** A tool of the client's own: its arguments are fields of the action. */
export const ClientAction = z.looseObject({ kind: z.templateLiteral(['ClientAction_', z.string()]) })
export type ClientAction = z.output<typeof ClientAction>

export const Action = z.union([BuiltInAction, ClientAction]).meta({ id: 'Action' })
export type Action = z.output<typeof Action>

export const ToolAnnotations = z
  .object({
    title: nullishText,
    readOnlyHint: z.boolean().default(false),
    destructiveHint: z.boolean().default(true),
    idempotentHint: z.boolean().default(false),
    openWorldHint: z.boolean().default(true),
  })
  .meta({ id: 'ToolAnnotations' })
export type ToolAnnotations = z.output<typeof ToolAnnotations>

const described = {
  description: z.string(),
  action_type: z.string(),
  observation_type: nullishText,
  annotations: ToolAnnotations.nullish(),
  meta: anyMap.nullish(),
  title: z.string(),
}

const BuiltInTool = z.strictObject({
  ...described,
  kind: z.enum([
    'TerminalTool',
    'FileEditorTool',
    'PlanningFileEditorTool',
    'TaskTrackerTool',
    'FinishTool',
    'ThinkTool',
    'GlobTool',
    'GrepTool',
    'ReadFileTool',
    'WriteFileTool',
    'EditTool',
    'ListDirectoryTool',
    'TaskTool',
    'TaskToolSet',
    'WorkflowTool',
    'WorkflowToolSet',
    'InvokeSkillTool',
    'SwitchLLMTool',
    'VisionInspectTool',
    'BrowserToolSet',
    'BrowserNavigateTool',
    'BrowserClickTool',
    'BrowserTypeTool',
    'BrowserScrollTool',
    'BrowserGetStateTool',
    'BrowserGetContentTool',
    'BrowserGoBackTool',
    'BrowserListTabsTool',
    'BrowserSwitchTabTool',
    'BrowserCloseTabTool',
    'BrowserGetStorageTool',
    'BrowserSetStorageTool',
    'BrowserStartRecordingTool',
    'BrowserStopRecordingTool',
  ]),
})

const ClientTool = z
  .strictObject({
    ...described,
    client_tool_name: z.string(),
    input_schema: anyMap,
    kind: z.literal('ClientTool'),
  })
  .meta({ id: 'ClientTool' })

const MCPToolDefinition = z
  .strictObject({
    ...described,
    mcp_tool: z.looseObject({ name: z.string(), inputSchema: anyMap }).meta({ id: 'McpTool' }),
    kind: z.literal('MCPToolDefinition'),
  })
  .meta({ id: 'MCPToolDefinition' })

export const ToolDefinition = z
  .discriminatedUnion('kind', [BuiltInTool, ClientTool, MCPToolDefinition])
  .meta({ id: 'ToolDefinition' })
export type ToolDefinition = z.output<typeof ToolDefinition>
