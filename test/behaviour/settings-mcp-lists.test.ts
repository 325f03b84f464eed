import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MCPConfig } from '../../src/api/mcp-config.ts'
import { MASK } from '../../src/api/secret.ts'
import { fromLists, type Servers, toLists } from '../../src/settings/mcp-lists.ts'
import { isRefusal, open } from '../support/settings.ts'

describe('MCP servers as lists and as a map', () => {
  const lists = MCPConfig.parse({
    sse_servers: ['https://sse.example/one', { url: 'https://sse.example/two', api_key: 'k2' }],
    stdio_servers: [{ name: 'files', command: 'npx', args: ['-y', 'files'], env: { TOKEN: 't' } }],
    shttp_servers: [{ url: 'http://127.0.0.1:99/mcp', api_key: 'k3', timeout: 30 }],
  })

  test('the lists read back as they were posted, secrets masked', async () => {
    const { post, service } = open()
    await post({ mcp_config: lists })
    assert.deepEqual((await service.get('plaintext')).mcp_config, {
      sse_servers: [
        { url: 'https://sse.example/one', api_key: null },
        { url: 'https://sse.example/two', api_key: MASK },
      ],
      stdio_servers: [{ name: 'files', command: 'npx', args: ['-y', 'files'], env: { TOKEN: MASK } }],
      shttp_servers: [{ url: 'http://127.0.0.1:99/mcp', api_key: MASK, timeout: 30 }],
    })
  })

  test('a command is filed under its name, a URL under its host; an API key is a bearer token', () => {
    assert.deepEqual(JSON.parse(JSON.stringify(fromLists({}, lists))), {
      files: { transport: 'stdio', command: 'npx', args: ['-y', 'files'], env: { TOKEN: 't' } },
      'sse-example': { url: 'https://sse.example/one', transport: 'sse' },
      'sse-example-2': {
        url: 'https://sse.example/two',
        transport: 'sse',
        auth: { strategy: 'bearer', value: 'k2' },
      },
      '127-0-0-1': {
        url: 'http://127.0.0.1:99/mcp',
        transport: 'http',
        timeout: 30,
        auth: { strategy: 'bearer', value: 'k3' },
      },
    })
  })

  test('to post what was read changes nothing', async () => {
    const { post, patch, leaves, service } = open()
    await post({ mcp_config: lists })
    await patch({ agent_settings_diff: { mcp_config: extras } })
    const was = leaves()
    await post({ mcp_config: (await service.get()).mcp_config })
    assert.deepEqual(leaves(), was)
  })

  /** What the lists cannot say: hidden from them, and never lost by them. */
  const hidden: Servers = {
    off: { command: 'off', enabled: false },
    login: { url: 'https://login.example', auth: { strategy: 'oauth2', authentication: null, state: null } },
    'odd.name': { command: 'odd' },
    second: { url: 'https://sse.example/one', transport: 'http', headers: { A: 'h' } },
  }
  const extras = { bare: { command: 'bare' }, 'sse-example': { description: 'mine', headers: { X: 'h' } }, ...hidden }

  test('servers that the lists cannot express are hidden from them and survive every post', () => {
    const stored = { ...fromLists({}, lists), ...hidden }
    const shown = toLists(stored)
    assert.deepEqual(
      [...shown.sse_servers, ...shown.shttp_servers].map(({ url }) => url),
      ['https://sse.example/one', 'https://sse.example/two', 'http://127.0.0.1:99/mcp'],
    )
    assert.deepEqual(
      shown.stdio_servers.map(({ name }) => name),
      ['files'],
    )
    const emptied = fromLists(stored, { sse_servers: [], stdio_servers: [], shttp_servers: [] })
    assert.deepEqual(emptied, hidden)
  })

  test('a posted list replaces the servers of its kind; a list left out keeps them', () => {
    const stored = fromLists({}, lists)
    assert.deepEqual(Object.keys(fromLists(stored, { stdio_servers: [] })), [
      'sse-example',
      'sse-example-2',
      '127-0-0-1',
    ])
    assert.deepEqual(Object.keys(fromLists(stored, { sse_servers: [{ url: 'https://sse.example/two' }] })), [
      'files',
      'sse-example-2',
      '127-0-0-1',
    ])
    assert.deepEqual(fromLists(stored, {}), stored)
  })

  test('a server that is there already keeps its key and what the post does not mention', () => {
    const stored: Servers = {
      mine: {
        url: 'https://one.example/mcp',
        transport: 'streamable-http',
        headers: { X: 'h' },
        description: 'd',
        timeout: 9,
        auth: { strategy: 'bearer', value: 'sealed' },
      },
    }
    const post = (item: object) =>
      fromLists(stored, MCPConfig.parse({ shttp_servers: [{ url: 'https://one.example/mcp', ...item }] })).mine!
    assert.deepEqual(post({}), stored.mine)
    assert.deepEqual(post({ api_key: MASK }), stored.mine)
    assert.deepEqual(post({ api_key: null, timeout: 10 }), { ...stored.mine, timeout: 10 })
    assert.deepEqual(post({ api_key: 'new' }).auth, { strategy: 'bearer', value: 'new' })
    assert.equal(post({ api_key: '' }).auth, undefined)
    assert.equal(post({ timeout: null }).timeout, undefined)
  })

  test('a URL posted in the other list is the same server, moved; its secret moves with it and to no other URL', () => {
    const stored: Servers = {
      mine: { url: 'https://one.example', transport: 'sse', auth: { strategy: 'bearer', value: 'sealed' } },
    }
    const moved = fromLists(stored, {
      sse_servers: [],
      shttp_servers: [{ url: 'https://one.example/', api_key: MASK }],
    })
    assert.deepEqual([moved.mine?.transport, moved.mine?.auth], ['http', { strategy: 'bearer', value: 'sealed' }])
    const other = fromLists(stored, { sse_servers: [{ url: 'https://two.example', api_key: MASK }] })
    assert.deepEqual(JSON.parse(JSON.stringify(other)), {
      'two-example': { url: 'https://two.example', transport: 'sse' },
    })
  })

  test('masked variables are kept by name, unnamed ones go, unknown masks are nothing', () => {
    const stored: Servers = { files: { command: 'npx', env: { A: 'sealed a', B: 'sealed b' }, cwd: '/x' } }
    const next = fromLists(stored, {
      stdio_servers: [{ name: 'files', command: 'npx', env: { A: MASK, C: 'c', D: MASK } }],
    })
    assert.deepEqual(next.files?.env, { A: 'sealed a', C: 'c' })
    assert.equal(next.files?.cwd, '/x')
  })

  test('to post a hidden server switches it on; a name that another server has is refused', () => {
    const on = fromLists(
      { off: { command: 'off', enabled: false, cwd: '/x' } },
      { stdio_servers: [{ name: 'off', command: 'on' }] },
    )
    assert.deepEqual(JSON.parse(JSON.stringify(on)), { off: { command: 'on', cwd: '/x' } })
    const taken: Servers = { one: { url: 'https://one.example', enabled: false } }
    assert.throws(() => fromLists(taken, { stdio_servers: [{ name: 'one', command: 'x' }] }), isRefusal)
  })
})

describe('the lists are checked', () => {
  const stdio = (item: object) => ({ stdio_servers: [{ name: 'one', command: 'run', ...item }] })
  const url = (item: unknown) => ({ shttp_servers: [item] })
  const refused: [what: string, config: unknown, message: RegExp][] = [
    ['another key', { servers: [] }, /Unrecognized key/],
    ['an empty URL', url('  '), /URL cannot be empty/],
    ['a URL without scheme', url('one.example/mcp'), /URL must include a scheme/],
    ['a URL without host', url('http:///mcp'), /URL must include a valid domain\/host/],
    ['another scheme', url('ftp://one.example'), /URL scheme must be http, https, ws, or wss/],
    ['a timeout of 0', url({ url: 'http://one.example', timeout: 0 }), /Timeout must be positive/],
    ['a timeout above 3600', url({ url: 'http://one.example', timeout: 3601 }), /Timeout cannot exceed 3600 seconds/],
    ['a name with a space', stdio({ name: 'o ne' }), /letters, numbers, hyphens, and underscores/],
    ['an empty name', stdio({ name: ' ' }), /Server name cannot be empty/],
    ['a command with arguments', stdio({ command: 'run it' }), /single executable without spaces/],
    ['an open quote', stdio({ args: 'a "b' }), /Invalid argument format/],
    ['a variable without value', stdio({ env: 'A' }), /NAME=value/],
    ['a name twice', { stdio_servers: [stdio({}).stdio_servers[0], stdio({}).stdio_servers[0]] }, /Duplicate .* names/],
    [
      'a URL twice',
      { sse_servers: ['http://one.example'], shttp_servers: ['http://one.example/'] },
      /Duplicate .* URLs/,
    ],
  ]
  for (const [what, config, message] of refused)
    test(`${what} is refused`, () => {
      const issue = MCPConfig.safeParse(config).error?.issues[0]
      assert.match(issue?.message ?? '', message)
      if (issue?.code === 'custom') assert.equal(issue.params?.type, 'value_error')
    })

  test('arguments are split as a shell would, variables read as pairs, URLs trimmed', () => {
    const item = MCPConfig.parse(stdio({ args: `-a 'b c' "d \\"e\\"" f\\ g ''`, env: 'A=1, B=x=y' })).stdio_servers![0]!
    assert.deepEqual(item.args, ['-a', 'b c', 'd "e"', 'f g', ''])
    assert.deepEqual(item.env, { A: '1', B: 'x=y' })
    assert.deepEqual(MCPConfig.parse(url(' ws://one.example ')), url({ url: 'ws://one.example' }))
  })
})
