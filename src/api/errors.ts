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
  secret_not_found: {
    status: 404,
    message: (id?: string) => (id === undefined ? 'Secret not found' : `Secret with ID ${id} not found`),
  },
  secret_exists: { status: 400, message: (name: string) => `Secret ${name} already exists` },
  agent_profile_not_found: { status: 404, message: (id: string) => `Agent profile not found: ${id}` },
  llm_profile_not_found: { status: 404, message: (name: string) => `Profile '${name}' not found` },
  llm_profile_exists: { status: 409, message: (name: string) => `Profile '${name}' already exists` },
  llm_profile_limit: {
    status: 409,
    message: (limit: number) => `There are ${limit} profiles already: delete one first`,
  },
  llm_profile_built_in: {
    status: 409,
    message: (name: string) => `'${name}' is built in: store it under the other name instead`,
  },
  llm_profile_used: {
    status: 409,
    message: (name: string, users: string) => `Profile '${name}' is named by the agent profiles ${users}`,
  },
  agent_profile_exists: { status: 409, message: (name: string) => `Agent profile '${name}' already exists` },
  agent_profile_limit: {
    status: 409,
    message: (limit: number) => `There are ${limit} agent profiles already: delete one first`,
  },
  agent_profile_built_in: {
    status: 409,
    message: (name: string) => `The agent profile '${name}' is built in: store it under the other name instead`,
  },
  provider_connection_not_found: { status: 404, message: (id: string) => `Provider connection not found: ${id}` },
  provider_connection_limit: {
    status: 409,
    message: (limit: number) => `There are ${limit} provider connections already: delete one first`,
  },
  provider_connection_used: {
    status: 409,
    message: (users: string) => `The provider connection is used by ${users}`,
  },
  mcp_servers_dangling: {
    status: 422,
    message: (keys: readonly string[]) => `The agent profile names MCP servers nobody configured: ${keys.join(', ')}`,
  },
  mcp_server_not_found: { status: 404, message: (key: string) => `MCP server not found: ${key}` },
  mcp_login_not_found: { status: 404, message: () => 'There is no such login, or it took too long' },
  mcp_login_over: { status: 409, message: () => 'This login waits for nothing any more' },
  mcp_server_exists: { status: 409, message: (key: string) => `MCP server already exists: ${key}` },
  sandbox_not_found: { status: 404, message: () => 'Not Found' },
  sandbox_spec_not_found: { status: 404, message: (id: string) => `Sandbox spec not found: ${id}` },
  sandbox_unavailable: {
    status: 409,
    message: (id: string, why: string) => `Sandbox ${id} is ${why}`,
    retryable: true,
  },
  sandbox_preparing: {
    status: 409,
    message: (id: string) =>
      `A conversation is being prepared in sandbox ${id}: pause it when that is ready, or cancel the start of that first`,
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
  webhook_not_found: { status: 404, message: (id: string) => `Webhook not found: ${id}` },
  workspace_not_found: { status: 404, message: () => 'Workspace not found' },
  workspace_parent_not_found: { status: 404, message: () => 'Workspace parent not found' },
  workspaces_damaged: { status: 409, message: () => 'Workspaces file is corrupted' },
  command_not_found: { status: 404, message: (id: string) => `Command not found: ${id}` },
  command_limit: {
    status: 429,
    message: (limit: number) => `${limit} commands are running already in this sandbox`,
    retryable: true,
  },
  terminal_limit: {
    status: 429,
    message: (limit: number) => `${limit} terminals are open already: close one first`,
    retryable: true,
  },
  terminal_full: {
    status: 429,
    message: () => 'What was typed before has not been read yet: this was not taken',
    retryable: true,
  },
  git_failed: { status: 400, message: (why: string) => why },
  repository_not_found: { status: 404, message: (why: string) => why },
  branch_not_found: {
    status: 404,
    message: (branch: string, repository: string) => `${repository} has no branch or tag named ${branch}`,
  },
  repository_too_large: { status: 413, message: (why: string) => why },
  repository_unreachable: { status: 502, message: (why: string) => why, retryable: true },
  repository_failed: { status: 502, message: (why: string) => why },
  setup_failed: { status: 502, message: (why: string) => why },
  approval_not_found: { status: 404, message: () => 'Approval not found' },
  approval_limit: {
    status: 409,
    message: (limit: number) => `There are ${limit} approvals already: withdraw one first`,
  },
  package_not_fetched: { status: 400, message: (why: string) => why },
  package_invalid: { status: 422, message: (why: string) => why },
  package_not_found: { status: 404, message: (kind: string, name: string) => `${kind} '${name}' is not installed` },
  package_exists: {
    status: 409,
    message: (kind: string, name: string) => `${kind} '${name}' is already installed. Use force=true to overwrite.`,
  },
  package_limit: { status: 409, message: (limit: number) => `${limit} are installed already: uninstall one first` },
  git_token_required: { status: 401, message: () => 'Git provider token required (such as GitHub).' },
  git_user_unknown: { status: 401, message: () => 'Not authenticated' },
  provider_unauthorized: {
    status: 401,
    message: (provider: string) => `Invalid token. Please make sure it is a valid ${provider} token.`,
  },
  provider_forbidden: { status: 403, message: (provider: string) => `The ${provider} token has no right to this` },
  provider_not_found: { status: 404, message: (provider: string) => `Not found at ${provider}, or not for this token` },
  provider_unsupported: {
    status: 400,
    message: (what: string, provider: string) => `${what}: not supported for ${provider}`,
  },
  provider_rate_limited: {
    status: 429,
    message: (provider: string) => `${provider} takes no more requests for now`,
    retryable: true,
  },
  provider_unavailable: {
    status: 502,
    message: (provider: string, why: string) => `${provider} ${why}`,
    retryable: true,
  },
  conversation_exists: { status: 409, message: (id: string) => `There is a conversation ${id} already` },
  event_unknown: { status: 404, message: (id: string) => `Unknown event_id: ${id}` },
  model_failed: { status: 502, message: (why: string) => why, retryable: true },
  not_acp: {
    status: 400,
    message: () => 'This is not a conversation with an ACP agent: switch_llm changes the model it thinks with',
  },
  chat_model_not_found: { status: 404, message: (model: string) => `The model '${model}' does not exist` },
  agent_waits: {
    status: 409,
    message: (status: string) => `The agent has not answered: the conversation is ${status}`,
  },
  agent_failed: { status: 500, message: (why: string) => why },
  completion_limit: {
    status: 429,
    message: (limit: number) => `${limit} chat completions are under way already`,
    retryable: true,
  },
  completion_timeout: {
    status: 504,
    message: (seconds: number) =>
      `The agent did not finish within ${seconds} s and was stopped; it can be told to go on`,
  },
  subscription_unavailable: {
    status: 503,
    message: () => 'Logins with a subscription are not set up here: use an API key',
  },
  subscription_failed: {
    status: 502,
    message: (why: string) => `Who gives logins for subscriptions ${why}`,
    retryable: true,
  },
  subscription_login_not_found: { status: 404, message: () => 'There is no such login, or it took too long' },
  vscode_unavailable: { status: 503, message: (why: string) => why },
  desktop_unavailable: { status: 503, message: () => 'Sandboxes have no desktop here' },
  conversation_running: { status: 409, message: () => 'The conversation is already running' },
  start_task_not_found: { status: 404, message: (id: string) => `Start task not found: ${id}` },
  start_key_taken: { status: 409, message: () => 'The same id or Idempotency-Key was used for another order' },
  too_many_pending: {
    status: 429,
    message: (limit: number) => `Too many pending messages. Maximum ${limit} messages per conversation.`,
    retryable: true,
  },
  sandbox_gone: {
    status: 410,
    message: (id: string) =>
      `The sandbox of this conversation is archived: its files are gone. POST /api/v1/sandboxes/${id}/resume starts it anew, without them`,
  },
  sandbox_error: {
    status: 503,
    message: (id: string, why: string) =>
      `The sandbox of this conversation is in an error state: ${why}. POST /api/v1/sandboxes/${id}/resume tries again`,
    retryable: true,
  },
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
  /** After how many seconds to try again, where somebody said so. */
  retryAfter?: number
  /** What a caller's program is told beside the message. */
  more?: Record<string, unknown>

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
