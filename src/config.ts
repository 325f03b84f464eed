import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import * as z from 'zod'
import { unwrap } from './api/secret.ts'
import { MarketplaceRegistration } from './api/skills.ts'
import { BadUsage, badArguments } from './lib/usage.ts'
import { wrap } from './lib/wrap.ts'
import { DEFAULT_SPECS, SandboxSpec } from './sandbox/specs.ts'
import { WebhookSpecs } from './webhooks/spec.ts'

/** A way of setting something: on the command line, in the environment, in the file. */
interface Setting {
  schema: z.ZodType
  /** Environment variable; with `[]` a numbered list of them. */
  env: string | undefined
  /** Command-line option; undefined for what must not stand in a process list. */
  option: string | undefined
  /** What it is, and what follows from it. */
  help: string
}

const setting = <S extends z.ZodType>(
  schema: S,
  env: string | undefined,
  option: string | undefined,
  help: string,
) => ({
  schema,
  env,
  option,
  help,
})

function isRegex(text: string): boolean {
  try {
    return !!new RegExp(text)
  } catch {
    return false
  }
}

/** Every setting once. The file uses these names. */
const settings = {
  host: setting(
    z.string().min(1).default('127.0.0.1'),
    'GANTRY_HOST',
    'host',
    'Address to listen on. Anything but loopback makes the key required of everybody.',
  ),
  port: setting(
    z.int().min(0).max(65_535).default(8000),
    'GANTRY_PORT',
    'port',
    'Port to listen on; 0 picks a free one and prints it.',
  ),
  data: setting(
    z
      .string()
      .min(1)
      .default(() => join(homedir(), '.gantry')),
    'GANTRY_DATA',
    'data',
    'Folder for everything that is kept: conversations, settings, keys. One server each.',
  ),
  session_api_keys: setting(
    z.array(z.string().min(1)).default([]),
    'OH_SESSION_API_KEYS[]',
    undefined,
    'Keys that callers must present. Setting one makes it required of everybody; otherwise one is made at the first start and kept in the data folder.',
  ),
  secret_key: setting(
    z.string().min(1).optional(),
    'OH_SECRET_KEY',
    undefined,
    'Encrypts stored secrets. Without it a key is made at the first start and kept in the data folder. If it is lost or changed, stored secrets cannot be read any more.',
  ),
  allow_cors_origins: setting(
    z.array(z.string()).default([]),
    'OH_ALLOW_CORS_ORIGINS[]',
    'allow-origin',
    'Further origin whose pages may talk to this server, provided they bring the key. May be repeated. Pages of this machine may already.',
  ),
  allow_cors_origin_regex: setting(
    z.string().refine(isRegex, 'not a regular expression').optional(),
    'OH_ALLOW_CORS_ORIGIN_REGEX',
    undefined,
    'The same, as a regular expression for the whole origin.',
  ),
  allow_hosts: setting(
    z.array(z.string()).default([]),
    'GANTRY_ALLOW_HOSTS[]',
    'allow-host',
    'Further host name under which this server is reached. May be repeated. Addresses and localhost always work; other names are refused, against DNS rebinding.',
  ),
  synchronous: setting(
    z.enum(['full', 'normal']).default('full'),
    'GANTRY_SYNCHRONOUS',
    'synchronous',
    'full: what is acknowledged survives a power cut. normal: it survives a crash of the server, but the last moments may be lost when the power fails.',
  ),
  open_metrics: setting(
    z.boolean().default(false),
    'GANTRY_OPEN_METRICS',
    'open-metrics',
    'Serve /metrics without the key.',
  ),
  workspaces: setting(
    z.array(z.string().min(1)).default([]),
    'GANTRY_WORKSPACES[]',
    'workspace',
    'Folder of this machine that agents may read and write, at its own path in the default sandbox. May be repeated. Without it they see no file of yours.',
  ),
  read_folders: setting(
    z.array(z.string().min(1)).default([]),
    'GANTRY_READ_FOLDERS[]',
    'read',
    'The same, but for reading only: toolchains, caches. May be repeated.',
  ),
  sandbox_specs: setting(
    z.array(SandboxSpec).min(1).default(DEFAULT_SPECS),
    'GANTRY_SANDBOX_SPECS',
    undefined,
    'Templates for sandboxes, as a JSON list; the first is the default. Fields: id, backend (local, docker or process), image, command, working_dir, env, memory_mb, processes, cpus, disk_mb, network (none, hosts or open), hosts, idle_seconds, delete_after_seconds, runtime. "process" has no walls at all: the key is then required of everybody.',
  ),
  webhooks: setting(
    WebhookSpecs,
    'OH_WEBHOOKS[]',
    undefined,
    'Whom to tell what happens: events to base_url/events/ID, conversations to base_url/conversations. A JSON list; in the environment also field by field, as in OH_WEBHOOKS_0_BASE_URL. Fields: base_url, headers, secret (signs what is sent; without it the first of the configured session keys is sent instead), event_buffer_size, flush_delay, num_retries, retry_delay, max_batch_bytes. Nothing is dropped: what is not taken waits. A new one is told what happens from then on.',
  ),
  registered_marketplaces: setting(
    z.array(MarketplaceRegistration).default([]),
    'OH_REGISTERED_MARKETPLACES[]',
    undefined,
    'Lists of skills and plugins to choose from. A JSON list; in the environment also field by field, as in OH_REGISTERED_MARKETPLACES_0_NAME. Fields: name, source (github:owner/name, an address of a repository, or a folder of the default sandbox), ref, repo_path, auto_load (true, or a list of names: what is loaded where public skills are asked for). Without one there is none.',
  ),
  max_sandboxes: setting(
    z.int().min(1).default(100),
    'GANTRY_MAX_SANDBOXES',
    'max-sandboxes',
    'Sandboxes that may run at the same time; one more is refused.',
  ),
  sandbox_user: setting(
    z
      .string()
      .regex(/^\d+(:\d+)?$/, 'not a user id, or user and group id with a colon between')
      .optional(),
    'GANTRY_SANDBOX_USER',
    'sandbox-user',
    'When this server runs as root: whom commands in sandboxes run as. Default: the owner of the first --workspace folder, otherwise 10001.',
  ),
  docker_socket: setting(
    z.string().startsWith('/').default('/var/run/docker.sock'),
    'GANTRY_DOCKER_SOCKET',
    'docker-socket',
    'Where the container engine (Docker, rootless Docker, Podman) listens, for specs with an image.',
  ),
  ports_domain: setting(
    z
      .string()
      .regex(/^[a-z0-9.-]+$/, 'not a host name')
      .default('localhost'),
    'GANTRY_PORTS_DOMAIN',
    'ports-domain',
    'Domain all of whose subdomains lead here. Ports opened in sandboxes become sites below it, apart from this server’s own.',
  ),
  log_level: setting(
    z.enum(['debug', 'info', 'warn', 'error']).optional(),
    'GANTRY_LOG_LEVEL',
    'log-level',
    'The least important lines to write to standard error. Default: info; on a terminal warn, so that requests do not flood it.',
  ),
} satisfies Record<string, Setting>

type Settings = typeof settings
export type Config = { [K in keyof Settings]: z.output<Settings[K]['schema']> }

export { BadUsage }

type Environment = Record<string, string | undefined>

export type Command = { show: 'help' | 'version' } | { config: Config }

/** From the least to the most particular: default, file, environment, command line. */
export function readConfig(argv: string[], env: Environment): Command {
  const given = readArguments(argv)
  if (given.help) return { show: 'help' }
  if (given.version) return { show: 'version' }
  const file = given.config === undefined ? {} : readFile(String(given.config))
  const config: Record<string, unknown> = {}
  for (const [name, setting] of Object.entries<Setting>(settings)) {
    const fromOption = setting.option === undefined ? undefined : given[setting.option]
    const fromEnv = setting.env === undefined ? undefined : readVariable(setting.env, setting.schema, env)
    const [value, where] =
      fromOption !== undefined
        ? [fromText(setting.schema, fromOption), `--${setting.option}`]
        : fromEnv !== undefined
          ? [fromText(setting.schema, fromEnv), setting.env]
          : [file[name], `${name} in ${given.config}`]
    const result = z.safeParse(setting.schema, value)
    if (!result.success) throw new BadUsage(`${where}: ${result.error.issues[0]?.message}${got(setting, value)}`)
    config[name] = result.data
  }
  return { config: { ...(config as Config), data: resolve(String(config.data)) } }
}

/** What must not stand in a process list must not stand in a message either. */
const got = ({ option }: Setting, value: unknown): string =>
  option === undefined ? '' : ` (got ${JSON.stringify(value)})`

function readArguments(argv: string[]): Record<string, unknown> {
  const options = Object.fromEntries(
    Object.entries(serverOptions()).map(([name, { type, multiple, short }]) => [
      name,
      { type, multiple, ...(short && { short }) },
    ]),
  )
  try {
    return parseArgs({ args: argv, options, strict: true, allowPositionals: false }).values
  } catch (error) {
    throw badArguments(error, Object.keys(options))
  }
}

function readFile(path: string): Record<string, unknown> {
  let file: unknown
  try {
    file = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    // A syntax error quotes the file: over several lines, and secrets too.
    const { message } = error as Error
    const where = /position \d+ \(line \d+ column \d+\)/.exec(message)?.[0]
    throw new BadUsage(
      `--config ${path}: ${error instanceof SyntaxError ? `not JSON${where ? ` at ${where}` : ''}` : message}`,
    )
  }
  if (file === null || typeof file !== 'object' || Array.isArray(file))
    throw new BadUsage(`--config ${path}: not a JSON object`)
  const unknown = Object.keys(file).find(name => !Object.hasOwn(settings, name))
  if (unknown !== undefined) throw new BadUsage(`--config ${path}: unknown setting "${unknown}"`)
  return file as Record<string, unknown>
}

/** `SESSION_API_KEY` is the older name of the first session key. */
function readVariable(name: string, schema: z.ZodType, env: Environment): unknown {
  if (!name.endsWith('[]')) return env[name] || undefined
  const base = name.slice(0, -2)
  const item = (defOf(schema) as z.core.$ZodArrayDef<z.ZodType>).element
  if (item instanceof z.ZodObject) return env[base] || readItems(base, item.shape, env)
  const list: string[] = base === 'OH_SESSION_API_KEYS' && env.SESSION_API_KEY ? [env.SESSION_API_KEY] : []
  for (let i = 0; env[`${base}_${i}`]; i++) list.push(env[`${base}_${i}`]!)
  return list.length > 0 ? list : undefined
}

/** Each as JSON in `OH_X_0`, or field by field in `OH_X_0_FIELD`, which wins. */
function readItems(base: string, shape: Record<string, z.ZodType>, env: Environment): unknown[] | undefined {
  const items: unknown[] = []
  for (;;) {
    const name = `${base}_${items.length}`
    const fields = Object.entries(shape).flatMap(([key, schema]) => {
      const text = env[`${name}_${key.toUpperCase()}`]
      return text ? [[key, fromText(schema, text)]] : []
    })
    const whole = env[name]
    if (!whole && fields.length === 0) return items.length > 0 ? items : undefined
    const item = whole ? fromJson(whole) : {}
    items.push(fields.length > 0 ? { ...Object(item), ...Object.fromEntries(fields) } : item)
  }
}

function fromText(schema: z.ZodType, value: unknown): unknown {
  if (typeof value !== 'string') return value
  const type = typeOf(schema)
  if (type === 'array' || type === 'record') return fromJson(value)
  if (type === 'number') return /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value
  return type === 'boolean' ? (/^(1|true)$/i.test(value) ? true : /^(0|false)$/i.test(value) ? false : value) : value
}

function fromJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const defOf = (schema: z.ZodType) => (unwrap(schema) as z.core.$ZodTypes)._zod.def
const typeOf = (schema: z.ZodType): string => defOf(schema).type
const isList = (schema: z.ZodType): boolean => typeOf(schema) === 'array'
const isBoolean = (schema: z.ZodType): boolean => typeOf(schema) === 'boolean'

interface ServerOption {
  type: 'string' | 'boolean'
  multiple: boolean
  short?: string
  /** What stands for its value in help. */
  value?: string
  help: string
}

/** The options of the server, for a command line. */
export function serverOptions(): Record<string, ServerOption> {
  const own: Record<string, ServerOption> = {
    help: { type: 'boolean', multiple: false, short: 'h', help: 'Show this.' },
    version: { type: 'boolean', multiple: false, help: 'Show the version.' },
    config: {
      type: 'string',
      multiple: false,
      value: 'FILE',
      help: 'Read settings from a JSON file. The environment wins over it, the command line over both.',
    },
  }
  const ofSettings = Object.values<Setting>(settings).flatMap(({ schema, option, help }): [string, ServerOption][] => {
    const common = { multiple: isList(schema), help }
    if (option === undefined) return []
    if (isBoolean(schema)) return [[option, { type: 'boolean', ...common }]]
    return [[option, { type: 'string', value: placeholder(schema), ...common }]]
  })
  return { ...own, ...Object.fromEntries(ofSettings) }
}

export function helpText(): string {
  const options = serverOptions()
  const entries = ['help', 'version', 'config'].map((name): [string, string] => [
    headOf(name, options[name]!),
    options[name]!.help,
  ])
  for (const [name, { schema, env, option, help }] of Object.entries<Setting>(settings)) {
    const fallback = z.safeParse(schema, undefined).data as unknown
    const facts = [
      fallback === undefined || Array.isArray(fallback) ? undefined : `Default: ${fallback}.`,
      env && `Environment: ${name === 'session_api_keys' ? 'SESSION_API_KEY, ' : ''}${env.replace('[]', '_0, _1, …')}.`,
      `File: "${name}".`,
    ]
    const head = option === undefined ? `(no option) ${name}` : headOf(option, options[option]!)
    entries.push([head, [help, ...facts.filter(Boolean)].join(' ')])
  }
  const lines = entries.flatMap(([head, text]) => [`  ${head}`, ...wrap(text, 84).map(line => `      ${line}`)])
  return ['gantry: an agent server', '', 'Usage: gantry [serve] [options]', '', ...lines].join('\n')
}

const headOf = (name: string, { short, value }: ServerOption): string =>
  `--${name}${short ? `, -${short}` : ''}${value ? ` ${value}` : ''}`

function placeholder(schema: z.ZodType): string {
  const def = defOf(schema)
  if (def.type === 'enum') return Object.values(def.entries).join('|')
  return def.type === 'number' ? 'N' : 'TEXT'
}
