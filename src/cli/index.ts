import { type Command, command, type Options } from './command.ts'
import { EXIT_CODES } from './io.ts'

/** Where the server is: of every command that needs one. */
const server = {
  server: { type: 'string', value: 'URL', help: 'The server to use. Environment: GANTRY_URL.' },
  'key-file': {
    type: 'string',
    value: 'FILE',
    help: 'The file that holds its key. Environment: GANTRY_KEY, the key itself.',
  },
  key: { type: 'string', value: 'KEY', help: 'The key; others on this machine can see it in the list of processes.' },
  data: {
    type: 'string',
    value: 'DIR',
    help: 'Without --server: the data folder whose running server is used; where none runs, one is started for the moment. Environment: GANTRY_DATA.',
  },
  config: { type: 'string', value: 'FILE', help: 'Settings for a server that is started for the moment.' },
} as const satisfies Options

const json = { type: 'boolean', help: 'Print JSON, for programs.' } as const
const ID = { name: 'ID' }
const BY_PREFIX = 'An ID may be shortened as long as it is the only one that begins so.'

const CONFIRM = ['always', 'risky', 'never'] as const
const confirm = {
  type: 'string',
  value: 'WHEN',
  choices: CONFIRM,
  help: 'What the agent asks for before it acts: everything, what is risky (the default), or nothing.',
} as const

/** How an agent is started. */
const agent = {
  model: {
    type: 'string',
    value: 'NAME',
    help: 'An LLM profile, or a model such as ollama/qwen3. Default: what the settings say. demo/guide needs nothing.',
  },
  workspace: {
    type: 'string',
    value: 'DIR',
    help: 'Folder of this machine to work in. A server that runs must have been granted it. Without it the agent works in a folder of the sandbox.',
  },
  sandbox: { type: 'string', value: 'ID|SPEC', help: 'An existing sandbox, or a template to make one from.' },
  confirm,
  budget: { type: 'string', value: 'DOLLARS', help: 'What it may cost.' },
  'max-steps': { type: 'string', value: 'N', help: 'Steps after which it is stopped. Default: 500.' },
} as const satisfies Options

const EXITS = `Exit codes: ${EXIT_CODES.map(([code, meaning]) => `${code} ${meaning}`).join(', ')}.`
const STATUSES = ['idle', 'running', 'paused', 'waiting_for_confirmation', 'finished', 'error', 'stuck'] as const
const SHELLS = ['bash', 'zsh', 'fish'] as const

/** Every command once: help, completion and parsing come from here. */
export const commands: Readonly<Record<string, Command>> = {
  serve: {
    summary: 'Run the server. What "gantry" alone does.',
    words: [],
    examples: ['gantry serve --port 9000', 'gantry serve --workspace ~/code/project'],
    options: async () => (await import('../config.ts')).serverOptions(),
    run: async (io, argv) => {
      return (await import('./serve.ts')).serve(io, argv)
    },
  },
  run: command({
    summary: 'Have an agent do a task, and watch it.',
    words: [{ name: '[TASK]' }],
    options: {
      ...agent,
      resume: { type: 'string', value: 'ID', help: 'Go on with a conversation instead of starting one.' },
      json: { type: 'boolean', help: 'Print the events of the log, one a line as JSON, and nothing else.' },
      ...server,
    },
    examples: [
      'gantry run "why does the build fail?" --workspace .',
      'git diff | gantry run - --confirm never --budget 0.5',
      'gantry run --model demo/guide "show me around"',
      'gantry run --resume 3f2a "now write a test for it"',
    ],
    notes: [
      'The task is read from standard input if it is "-" or missing. The words of the agent go to standard output, everything else to standard error. Ctrl-C interrupts the agent, a second one quits at once.',
      EXITS,
    ],
    load: async () => (await import('./run.ts')).run,
  }),
  chat: command({
    summary: 'Talk with an agent, line by line.',
    words: [{ name: '[ID]' }],
    options: { ...agent, ...server },
    examples: ['gantry chat --workspace .', 'gantry chat 3f2a'],
    notes: [
      'What you type while it works is told to it at its next step. /help lists what else can be typed.',
      BY_PREFIX,
    ],
    load: async () => (await import('./chat.ts')).chat,
  }),
  ls: command({
    summary: 'List conversations, the newest first.',
    options: {
      status: { type: 'string', value: 'STATUS', choices: STATUSES, help: 'Only those in this state.' },
      limit: { type: 'string', value: 'N', help: 'How many. Default: 20.' },
      json,
      ...server,
    },
    examples: ['gantry ls', 'gantry ls --status waiting_for_confirmation', 'gantry ls --json | jq -r ".[].id"'],
    load: async () => (await import('./ls.ts')).ls,
  }),
  show: command({
    summary: 'Print the log of a conversation.',
    words: [ID],
    options: { json, ...server },
    examples: ['gantry show 3f2a', 'gantry show 3f2a --json | jq -r .kind'],
    notes: [BY_PREFIX],
    load: async () => (await import('./show.ts')).show,
  }),
  approve: command({
    summary: 'Say yes to what an agent asks for.',
    words: [ID, { name: '[ACTION…]' }],
    options: server,
    examples: ['gantry approve 3f2a', 'gantry approve 3f2a 81cc'],
    notes: [`Without ACTION it is a yes to all that waits at that moment, which is printed. ${BY_PREFIX}`],
    load: async () => (await import('./answer.ts')).approve,
  }),
  reject: command({
    summary: 'Say no to what an agent asks for.',
    words: [ID, { name: '[ACTION…]' }],
    options: { reason: { type: 'string', value: 'TEXT', help: 'Why; the agent is told.' }, ...server },
    examples: ['gantry reject 3f2a --reason "not in this folder"'],
    notes: [BY_PREFIX],
    load: async () => (await import('./answer.ts')).reject,
  }),
  export: command({
    summary: 'Save a conversation as a zip file.',
    words: [ID, { name: '[FILE]' }],
    options: server,
    examples: ['gantry export 3f2a', 'gantry export 3f2a bug.zip', 'gantry export 3f2a - | ssh host "cat > bug.zip"'],
    notes: [BY_PREFIX],
    load: async () => (await import('./export.ts')).exportConversation,
  }),
  import: command({
    summary: 'Take in a conversation from a zip file.',
    words: [{ name: 'FILE' }],
    options: server,
    examples: ['gantry import bug.zip'],
    notes: [
      'The file is one that "gantry export" or another server of the same interface has made. Prints the new ID.',
    ],
    load: async () => (await import('./import.ts')).importConversation,
  }),
  doctor: command({
    summary: 'Say what works on this machine, and what is missing.',
    options: { json, data: server.data, config: server.config },
    examples: ['gantry doctor'],
    notes: ['Exits with 1 if nothing isolates commands from this machine.'],
    load: async () => (await import('./doctor.ts')).doctor,
  }),
  key: command({
    summary: 'Print the session key of the data folder, or a link that signs a browser in.',
    options: {
      link: { type: 'boolean', help: 'Print a link to the running server that signs a browser in, once.' },
      ...server,
    },
    examples: [
      'curl -H "X-Session-API-Key: $(gantry key)" localhost:8000/api/settings',
      'xdg-open "$(gantry key --link)"',
    ],
    load: async () => (await import('./key.ts')).key,
  }),
  completion: command({
    summary: 'Print a script that completes gantry commands in your shell.',
    words: [{ name: 'SHELL', choices: SHELLS }],
    options: {},
    examples: [
      'gantry completion bash > ~/.local/share/bash-completion/completions/gantry',
      'gantry completion zsh > /usr/local/share/zsh/site-functions/_gantry',
      'gantry completion fish > ~/.config/fish/completions/gantry.fish',
    ],
    load: async () => (await import('./completion.ts')).completion,
  }),
}
