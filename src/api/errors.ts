/**
 * Every error a caller can meet: code, status, message, whether trying again may help.
 * The domain throws `fault(code, …)` and knows nothing of HTTP; `http/` turns it into a status and a body, once.
 */
const catalogue = {
  invalid_request: { status: 422, message: (why: string) => why },
  bad_request: { status: 400, message: (why: string) => why },
  unauthorized: { status: 401, message: () => 'Unauthorized' },
  forbidden: { status: 403, message: (why: string) => why },
  not_found: { status: 404, message: () => 'Not Found' },
  method_not_allowed: { status: 405, message: () => 'Method Not Allowed' },
  body_too_large: { status: 413, message: (limit: number) => `The body is larger than ${limit} bytes` },
  unsupported_media_type: { status: 415, message: (wanted: string) => `The body must be ${wanted}` },
  conversation_not_found: { status: 404, message: (id: string) => `Conversation not found: ${id}` },
  event_not_found: { status: 404, message: (id: string) => `Event not found: ${id}` },
  secret_not_found: { status: 404, message: () => 'Secret not found' },
  agent_profile_not_found: { status: 404, message: (id: string) => `Agent profile not found: ${id}` },
  llm_profile_not_found: { status: 404, message: (name: string) => `Profile not found: ${name}` },
  llm_profile_exists: { status: 409, message: (name: string) => `Profile '${name}' already exists` },
  llm_profile_limit: {
    status: 409,
    message: (limit: number) => `There are ${limit} profiles already: delete one first`,
  },
  llm_profile_built_in: {
    status: 409,
    message: (name: string) => `'${name}' is built in: store it under the other name instead`,
  },
  mcp_server_not_found: { status: 404, message: (key: string) => `MCP server not found: ${key}` },
  mcp_server_exists: { status: 409, message: (key: string) => `MCP server already exists: ${key}` },
  sandbox_not_found: { status: 404, message: () => 'Not Found' },
  sandbox_spec_not_found: { status: 404, message: (id: string) => `Sandbox spec not found: ${id}` },
  sandbox_unavailable: {
    status: 409,
    message: (id: string, why: string) => `Sandbox ${id} is ${why}`,
    retryable: true,
  },
  sandbox_failed: { status: 502, message: (why: string) => why, retryable: true },
  sandbox_limit: {
    status: 429,
    message: (limit: number) => `${limit} sandboxes are running already; pause or delete one`,
    retryable: true,
  },
  egress_unsupported: {
    status: 409,
    message: (id: string) => `Sandbox ${id} has no walls, so no command in it can be kept from the network`,
  },
  port_closed: { status: 502, message: (port: number) => `Nothing listens on port ${port} there`, retryable: true },
  path_not_absolute: { status: 400, message: () => 'Path must be absolute' },
  file_not_found: { status: 404, message: () => 'File not found' },
  directory_not_found: { status: 404, message: () => 'Directory not found' },
  not_a_file: { status: 400, message: () => 'Path is not a file' },
  not_a_directory: { status: 400, message: () => 'Path is not a directory' },
  outside_workspace: { status: 400, message: () => 'Path is outside the workspace' },
  permission_denied: { status: 403, message: (path: string) => `Permission denied: ${path}` },
  file_too_large: { status: 413, message: (limit: number) => `It is larger than ${limit} bytes` },
  workspace_not_found: { status: 404, message: () => 'Workspace not found' },
  workspace_parent_not_found: { status: 404, message: () => 'Workspace parent not found' },
  workspaces_damaged: { status: 409, message: () => 'Workspaces file is corrupted' },
  command_not_found: { status: 404, message: (id: string) => `Command not found: ${id}` },
  command_limit: {
    status: 429,
    message: (limit: number) => `${limit} commands are running already in this sandbox`,
    retryable: true,
  },
  git_failed: { status: 400, message: (why: string) => why },
  conversation_exists: { status: 409, message: (id: string) => `There is a conversation ${id} already` },
  event_unknown: { status: 404, message: (id: string) => `Unknown event_id: ${id}` },
  model_failed: { status: 502, message: (why: string) => why, retryable: true },
  conversation_running: { status: 409, message: () => 'The conversation is already running' },
  conflict: { status: 409, message: (what: string) => `${what} was changed by somebody else`, retryable: true },
  overloaded: { status: 503, message: () => 'The server is busy; try again in a moment', retryable: true },
  shutting_down: { status: 503, message: () => 'The server is shutting down', retryable: true },
  storage_full: { status: 507, message: () => 'The disk is full: nothing was stored', retryable: true },
  storage_failed: {
    status: 507,
    message: () => 'The disk refused the write: nothing was acknowledged',
    retryable: true,
  },
  record_damaged: { status: 500, message: (what: string) => `${what} is damaged on disk` },
} as const satisfies Record<string, { status: number; message: (...args: never[]) => string; retryable?: boolean }>

export type ErrorCode = keyof typeof catalogue

export class Fault extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly retryable: boolean

  constructor(code: ErrorCode, message: string) {
    super(message)
    this.name = 'Fault'
    this.code = code
    const entry: { status: number; retryable?: boolean } = catalogue[code]
    this.status = entry.status
    this.retryable = entry.retryable ?? false
  }
}

export function fault<C extends ErrorCode>(code: C, ...args: Parameters<(typeof catalogue)[C]['message']>): Fault {
  const message = catalogue[code].message as (...args: unknown[]) => string
  return new Fault(code, message(...args))
}

export const statusOf = (code: ErrorCode): number => catalogue[code].status
