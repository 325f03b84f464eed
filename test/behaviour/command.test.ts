import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { BadUsage, type Config, readConfig } from '../../src/config.ts'
import { GANTRY_VERSION } from '../../src/version.ts'
import { Command, findProgram, gantry } from '../support/command.ts'
import { exchange } from '../support/exchange.ts'
import { GANTRY, TestServer, tempFolder } from '../support/server.ts'

let folder: string
before(async () => {
  folder = await tempFolder()
})
after(() => rm(folder, { recursive: true, force: true }))

let files = 0
async function configFile(content: string | object): Promise<string> {
  const path = join(folder, `config-${++files}.json`)
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

/** One line for a person: no stack, no second line. */
function oneLine(stderr: string, says: RegExp): void {
  assert.match(stderr, /^gantry: [^\n]+\n$/)
  assert.doesNotMatch(stderr, /\bat \S+:\d+/)
  assert.match(stderr, says)
}

const config = (argv: string[], env: Record<string, string> = {}): Config => {
  const command = readConfig(argv, env)
  assert.ok('config' in command)
  return command.config
}

describe('help and version', () => {
  test('serve --help lists every setting and ends well, without touching anything', async () => {
    for (const flag of ['--help', '-h']) {
      const { code, stdout, stderr } = await gantry(['serve', flag, '--data', join(folder, 'untouched')])
      assert.equal(code, 0)
      assert.equal(stderr, '')
      const entries = stdout.match(/^ {2}(--|\().*$/gm) ?? []
      const own = ['--help', '--version', '--config']
      for (const option of own)
        assert.ok(
          entries.some(entry => entry.includes(option)),
          option,
        )
      assert.equal(entries.length, own.length + Object.keys(config([])).length)
      for (const [, option] of stdout.matchAll(/^ {2}--([a-z-]+)/gm))
        assert.doesNotThrow(() => accepts(option!), option)
      assert.ok(stdout.split('\n').every(line => line.length <= 100))
    }
    assert.ok(!existsSync(join(folder, 'untouched')))
  })

  /** Throws when the parser does not know the option. */
  function accepts(option: string): void {
    try {
      readConfig([`--${option}=x`], {})
    } catch (error) {
      if (/Unknown option/.test((error as Error).message)) throw error
    }
  }

  test('serve --help names every variable that is read', async () => {
    const { stdout } = await gantry(['serve', '--help'])
    for (const variable of [
      'SESSION_API_KEY',
      'OH_SESSION_API_KEYS_0',
      'OH_SECRET_KEY',
      'OH_ALLOW_CORS_ORIGINS_0',
      'GANTRY_PORT',
    ])
      assert.match(stdout, new RegExp(`(?<!\\w)${variable}(?!\\w)`), variable)
  })

  test('--version prints the version', async () => {
    assert.deepEqual(await gantry(['--version']), { code: 0, stdout: `${GANTRY_VERSION}\n`, stderr: '' })
  })
})

describe('a wrong command line ends with one line and the code 2', () => {
  const wrong: Record<string, { args?: string[]; env?: Record<string, string>; file?: string | object; says: RegExp }> =
    {
      'an unknown option': { args: ['--nonsense'], says: /--nonsense/ },
      'a word too many': { args: ['serve', 'well'], says: /well/ },
      'a port that is no number': { args: ['--port', 'http'], says: /--port/ },
      'a port out of range': { args: ['--port', '65536'], says: /--port/ },
      'a negative port': { args: ['--port', '-1'], says: /--port/ },
      'a port with a fraction': { args: ['--port', '80.5'], says: /--port/ },
      'an option without its value': { args: ['--data'], says: /--data/ },
      'an empty value': { args: ['--host='], says: /--host/ },
      'a flag with a value': { args: ['--open-metrics=maybe'], says: /--open-metrics/ },
      'a choice that is none': { args: ['--log-level', 'loud'], says: /--log-level.*debug/ },
      'a bad number in the environment': { env: { GANTRY_PORT: 'x' }, says: /GANTRY_PORT/ },
      'a bad flag in the environment': { env: { GANTRY_OPEN_METRICS: 'maybe' }, says: /GANTRY_OPEN_METRICS/ },
      'a bad choice in the environment': { env: { GANTRY_SYNCHRONOUS: 'never' }, says: /GANTRY_SYNCHRONOUS/ },
      'a bad pattern in the environment': {
        env: { OH_ALLOW_CORS_ORIGIN_REGEX: '(' },
        says: /OH_ALLOW_CORS_ORIGIN_REGEX/,
      },
      'a file that does not exist': { args: ['--config', '/nonexistent/gantry.json'], says: /nonexistent/ },
      'a folder as file': { args: ['--config', '/'], says: /--config/ },
      'a file that is no JSON': { file: 'port: 1\nhost: x\n', says: /--config/ },
      'a file that ends too soon': { file: '{\n  "port": 1', says: /--config/ },
      'a file that is a list': { file: '[]', says: /--config/ },
      'a file with an unknown name': { file: { prot: 1 }, says: /prot/ },
      'a file with a name that every object has': { file: '{"toString": 1}', says: /toString/ },
      'a file with a wrong type': { file: { open_metrics: 'yes' }, says: /open_metrics/ },
      'a file with null': { file: { host: null }, says: /host/ },
    }
  for (const [name, { args = [], env = {}, file, says }] of Object.entries(wrong))
    test(name, async () => {
      const fromFile = file === undefined ? [] : ['--config', await configFile(file)]
      const { code, stdout, stderr } = await gantry([...args, ...fromFile], {
        env: { GANTRY_DATA: join(folder, 'no'), GANTRY_PORT: '0', ...env },
      })
      assert.equal(code, 2, stderr)
      assert.equal(stdout, '')
      oneLine(stderr, says)
    })

  test('and never tells a secret', async () => {
    for (const secret of [
      { session_api_keys: 'canary-key' },
      { secret_key: ['canary-key'] },
      { session_api_keys: [['canary-key']] },
    ]) {
      const { code, stderr } = await gantry(['--config', await configFile(secret)])
      assert.equal(code, 2)
      assert.doesNotMatch(stderr, /canary/)
    }
    const { code, stderr } = await gantry(['--config', await configFile('{"secret_key": canary-key}')])
    assert.equal(code, 2)
    assert.doesNotMatch(stderr, /canary/)
  })
})

describe('where a setting comes from', () => {
  const sources: Record<string, { option: string; variable: string; values: [unknown, string, string] }> = {
    host: { option: 'host', variable: 'GANTRY_HOST', values: ['127.0.0.2', '127.0.0.3', '127.0.0.4'] },
    port: { option: 'port', variable: 'GANTRY_PORT', values: [1, '2', '3'] },
    data: { option: 'data', variable: 'GANTRY_DATA', values: ['/a', '/b', '/c'] },
    synchronous: { option: 'synchronous', variable: 'GANTRY_SYNCHRONOUS', values: ['normal', 'full', 'normal'] },
    log_level: { option: 'log-level', variable: 'GANTRY_LOG_LEVEL', values: ['debug', 'warn', 'error'] },
    allow_hosts: { option: 'allow-host', variable: 'GANTRY_ALLOW_HOSTS_0', values: [['a'], 'b', 'c'] },
    allow_cors_origins: { option: 'allow-origin', variable: 'OH_ALLOW_CORS_ORIGINS_0', values: [['a'], 'b', 'c'] },
  }
  for (const [name, { option, variable, values }] of Object.entries(sources))
    test(`${name}: the command line before the environment before the file before the default`, async () => {
      const [inFile, inEnv, inArgs] = values
      const file = ['--config', await configFile({ [name]: inFile })]
      const at = (argv: string[], env = {}) => [(config(argv, env) as Record<string, unknown>)[name]].flat().join()
      const fallback = at([])
      assert.equal(at(file), String(inFile))
      assert.equal(at(file, { [variable]: inEnv }), inEnv)
      assert.equal(at([...file, `--${option}`, inArgs], { [variable]: inEnv }), inArgs)
      assert.notEqual(fallback, String(inFile))
      assert.equal(at([], { [variable]: '' }), fallback, 'an empty variable is none')
    })

  test('open_metrics, a flag, can be given and taken back', async () => {
    const file = ['--config', await configFile({ open_metrics: true })]
    assert.equal(config([]).open_metrics, false)
    assert.equal(config(file).open_metrics, true)
    assert.equal(config(file, { GANTRY_OPEN_METRICS: 'false' }).open_metrics, false)
    assert.equal(config([...file, '--open-metrics'], { GANTRY_OPEN_METRICS: '0' }).open_metrics, true)
  })

  test('session keys come from the file or the environment, never from the command line', async () => {
    const file = ['--config', await configFile({ session_api_keys: ['from-file'] })]
    assert.deepEqual(config(file).session_api_keys, ['from-file'])
    assert.deepEqual(config(file, { OH_SESSION_API_KEYS_0: 'a', OH_SESSION_API_KEYS_1: 'b' }).session_api_keys, [
      'a',
      'b',
    ])
    assert.deepEqual(config([], { SESSION_API_KEY: 'old', OH_SESSION_API_KEYS_0: 'a' }).session_api_keys, ['old', 'a'])
    assert.throws(() => readConfig(['--session-api-keys', 'x'], {}), BadUsage)
  })

  test('the server does what the file says', async () => {
    const path = await configFile({ port: 0, data: join(folder, 'from-file'), open_metrics: true })
    await using command = new Command(['--config', path])
    assert.equal((await exchange(await command.url(), { path: '/metrics' })).status, 200)
  })
})

describe('what the world refuses ends with one line and the code 1', () => {
  test('a port in use', async () => {
    await using server = await TestServer.start()
    const { port } = new URL(server.url)
    const { code, stdout, stderr } = await gantry(['--port', port, '--data', join(folder, 'second')])
    assert.equal(code, 1)
    assert.equal(stdout, '')
    oneLine(stderr, new RegExp(`port ${port}.*in use.*--port`))
  })

  test('a data folder in use, naming who has it', async () => {
    await using server = await TestServer.start()
    const { code, stderr } = await gantry(['--port', '0', '--data', server.data])
    assert.equal(code, 1)
    oneLine(stderr, new RegExp(`process ${server.pid}`))
    assert.equal((await exchange(server.url, { path: '/ready' })).status, 200)
  })

  test('an address of another machine', async () => {
    for (const host of ['192.0.2.1', 'no-such-host.invalid']) {
      const { code, stderr } = await gantry(['--host', host, '--port', '0', '--data', join(folder, 'elsewhere')])
      assert.equal(code, 1)
      oneLine(stderr, /--host/)
    }
  })

  test('a data folder that cannot be made', async () => {
    await writeFile(join(folder, 'file'), '')
    await symlink('/nonexistent/folder', join(folder, 'dangling'))
    for (const path of ['file', 'file/below', 'dangling', 'dangling/below']) {
      const data = join(folder, path)
      const { code, stdout, stderr } = await gantry(['--port', '0', '--data', data])
      assert.equal(code, 1)
      assert.equal(stdout, '')
      oneLine(stderr, new RegExp(RegExp.escape(data)))
    }
  })

  test('a key file that holds no key', async () => {
    const data = join(folder, 'short')
    await mkdir(data)
    await writeFile(join(data, 'session-key'), 'short\n')
    const { code, stderr } = await gantry(['--port', '0', '--data', data])
    assert.equal(code, 1)
    oneLine(stderr, /session-key/)
  })

  test('a Node that is too old', async t => {
    const major = (path: string) => Number(/^v(\d+)/.exec(execFileSync(path, ['--version'], { encoding: 'utf8' }))?.[1])
    const old = findProgram('node', path => !path.includes('node_modules') && major(path) < 26)
    if (!old) return t.skip('no node older than 26 in the path')
    const { code, stdout, stderr } = await gantry(['--help'], { node: old })
    assert.equal(code, 1)
    assert.equal(stdout, '')
    oneLine(stderr, /needs Node 26, this is \d+\.\d+\.\d+/)
  })

  test('the file can be run as it is', () => {
    assert.equal(execFileSync(GANTRY, ['--version'], { encoding: 'utf8' }), `${GANTRY_VERSION}\n`)
  })
})
