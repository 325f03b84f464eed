import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { joinKits, type Kit } from '../../src/agent/kit.ts'
import { Fault } from '../../src/api/errors.ts'
import { HookConfig } from '../../src/api/hooks.ts'
import { InstalledPluginResponse } from '../../src/api/plugins.ts'
import { packageOf } from '../../src/library/package.ts'
import { placed, readPlugin } from '../../src/library/plugin.ts'
import { inOne, placeOf } from '../../src/library/source.ts'
import { AgentRig, held, sh, type Talk } from '../support/agent.ts'
import { GitServer, NO_GIT_SERVER } from '../support/git-server.ts'
import { Box, NO_WALLS } from '../support/hands.ts'
import { NO_PYTHON, PYTHON } from '../support/inside.ts'
import { stdio } from '../support/mcp-stdio.ts'
import { call, finish, type Seen, say } from '../support/model-server.ts'
import { caller, commit, sh as inDefault, writing } from '../support/packages.ts'
import { TOKEN } from '../support/repositories.ts'
import { sampled } from '../support/sampled.ts'
import { count } from '../support/server.ts'
import { over, reaching, useAsGithub } from '../support/starts.ts'
import { until } from '../support/wait.ts'

const ROOT = `\${CLAUDE_PLUGIN_ROOT}`
const HELLO = `#!/bin/sh\necho '{"additionalContext": "CONTEXT of the plugin"}'`

/** All that a plugin can bring. */
const WEATHER: Record<string, string> = {
  '.claude-plugin/plugin.json': JSON.stringify({ name: 'weather', version: '2.0.0', description: 'Knows the sky.' }),
  'skills/clouds/SKILL.md': '---\nname: clouds\ndescription: About clouds.\n---\nLook up.',
  'skills/README.md': 'no skill',
  'commands/now.md': '---\ndescription: The weather now.\n---\nTell the weather of $ARGUMENTS.',
  'agents/forecaster.md': '---\nname: forecaster\ndescription: Looks ahead.\ntools: Read, Grep\n---\nYou look ahead.',
  'hooks/hooks.json': JSON.stringify({
    description: 'for people',
    hooks: {
      SessionStart: [{ hooks: [{ type: 'command', command: `sh ${ROOT}/hooks/hello.sh` }] }],
      Notification: [{ hooks: [{ type: 'command', command: 'never' }] }],
    },
  }),
  'hooks/hello.sh': HELLO,
  '.mcp.json': JSON.stringify({
    mcpServers: { sky: { type: 'stdio', command: PYTHON, args: [`${ROOT}/sky.py`, 'good'] } },
  }),
  'sky.py': stdio('good').args![1]!,
}

const inMemory = (files: Record<string, string>) =>
  packageOf(
    Object.entries(files).map(([path, text]) => ({ path, executable: false, content: Buffer.from(text) })),
    null,
  )
const invalid = (words: RegExp) => (error: unknown) =>
  error instanceof Fault && error.code === 'package_invalid' && words.test(error.message)

describe('a plugin, read from its files', () => {
  test('is all that other programs put into one', () => {
    const { name, version, description, brings } = readPlugin(inMemory(WEATHER), 'folder')
    assert.deepEqual([name, version, description], ['weather', '2.0.0', 'Knows the sky.'])
    assert.deepEqual(
      brings.skills.map(({ name, trigger }) => [name, trigger]),
      [
        ['clouds', null],
        ['weather:now', { type: 'task', triggers: ['/weather:now'] }],
      ],
    )
    const [agent] = brings.agent_definitions
    assert.deepEqual(
      [agent!.name, agent!.level, agent!.tools, agent!.system_prompt],
      ['forecaster', 'plugin', ['read_file', 'grep'], 'You look ahead.'],
    )
    assert.deepEqual([brings.mcp_config.sky!.transport, brings.mcp_config.sky!.command], ['stdio', PYTHON])
    assert.deepEqual(Object.values(brings.hook_config!).flat().length, 1)
  })

  test('knows its own folder wherever it lies, and only once it lies there', () => {
    const { brings } = readPlugin(inMemory(WEATHER), 'folder')
    const kit = placed(brings, '/some "where"')
    assert.equal(kit.hook_config!.session_start[0]!.hooks[0]!.command, 'sh /some "where"/hooks/hello.sh')
    assert.deepEqual(kit.mcp_config.sky!.args, ['/some "where"/sky.py', 'good'])
    assert.equal(kit.skills[0]!.source, '/some "where"/skills/clouds/SKILL.md')
  })

  test('may have no manifest, but something', () => {
    assert.equal(readPlugin(inMemory({ 'commands/go.md': 'Go.' }), 'named').name, 'named')
    assert.throws(() => readPlugin(inMemory({ 'README.md': 'x' }), 'named'), invalid(/There is no plugin/))
  })

  test('that is half understood is refused, with the place', () => {
    const cases: [Record<string, string>, RegExp][] = [
      [{ '.plugin/plugin.json': '{' }, /plugin\.json is not JSON/],
      [{ '.plugin/plugin.json': '{}' }, /plugin\.json\.name/],
      [{ '.plugin/plugin.json': '{"name": "../x"}' }, /cannot be its name/],
      [{ 'skills/a/SKILL.md': '---\nnever ends' }, /skills\/a\/SKILL\.md/],
      [{ 'agents/a.md': '---\nmax_iteration_per_run: many\n---\n' }, /agents\/a\.md/],
      [{ 'hooks/hooks.json': '[]' }, /hooks\.json/],
      [{ 'hooks/hooks.json': '{"hooks": {"Stop": [{"hooks": [{"type": "command"}]}]}}' }, /hooks\.json.*command/],
      [{ 'hooks/hooks.json': '{"hooks": {"Stop": [{"hooks": [{"type": "agent"}]}]}}' }, /type agent/],
      [{ '.mcp.json': '{"mcpServers": {"a": {"args": []}}}' }, /\.mcp\.json\.a/],
    ]
    for (const [files, words] of cases)
      assert.throws(() => readPlugin(inMemory(files), 'x'), invalid(words), JSON.stringify(files))
  })
})

test('kits add up: later skills and servers win, earlier sub-agents do, and every hook runs', () => {
  const kit = (mark: string): Kit => ({
    skills: readPlugin(inMemory({ 'skills/s.md': mark }), 'x').brings.skills,
    mcp_config: { server: { command: mark, enabled: true } },
    hook_config: HookConfig.parse({ stop: [{ hooks: [{ command: mark }] }] }),
    agent_definitions: readPlugin(inMemory({ 'agents/a.md': mark }), 'x').brings.agent_definitions,
  })
  const { skills, mcp_config, hook_config, agent_definitions } = joinKits(kit('one'), [kit('two'), kit('three')])
  assert.deepEqual([skills.length, skills[0]!.content, mcp_config.server!.command], [1, 'three', 'three'])
  assert.deepEqual(
    hook_config!.stop.map(({ hooks }) => hooks[0]!.command),
    ['one', 'two', 'three'],
  )
  assert.deepEqual([agent_definitions.length, agent_definitions[0]!.system_prompt], [1, 'one'])
})

test('a source is understood in all forms that people write, and in one text says as much as in three', () => {
  const at = (source: string, ref: string | null = null, repo_path: string | null = null) =>
    placeOf({ source, ref, repo_path })
  const repository = { kind: 'repository', github: null, ref: null, folder: '' }
  const github = { ...repository, url: 'https://github.com/a/b.git', github: 'a/b' }
  assert.deepEqual(at('github:a/b'), github)
  assert.deepEqual(at(' github:a/b/c/d '), { ...github, folder: 'c/d' })
  assert.deepEqual(at('github:a/b.git', 'v1', '/c/'), { ...github, ref: 'v1', folder: 'c' })
  const url = 'https://github.com/a/b'
  assert.deepEqual(at(url), { ...repository, url })
  assert.deepEqual(at(`${url}/tree/main/c%20d/e/`), { ...repository, url, ref: 'main', folder: 'c d/e' })
  assert.deepEqual(at('./a'), { kind: 'folder', path: './a' })
  for (const [source, ref, repo_path] of [
    ['github:a/b', null, 'c/d'],
    ['github:a/b', 'v1', 'c'],
    ['https://x.example/a/b.git', null, 'c'],
  ] as const) {
    const place = at(source, ref, repo_path)
    assert.deepEqual({ ...at(inOne({ source, ref, repo_path })), github: null }, { ...place, github: null })
  }
})

/** Each takes a second or two, and stands by itself. */
const sometimes = sampled(2)

describe('plugins of a server', { skip: NO_WALLS || NO_GIT_SERVER || NO_PYTHON }, () => {
  let git: GitServer
  let rig: AgentRig
  let url: string
  before(async () => {
    git = await GitServer.open()
    url = `http://${git.host}/ann/weather.git`
    await git.add('ann/weather', commit(writing(WEATHER)))
    const list = {
      name: 'sky',
      plugins: [{ name: 'weather', source: { source: 'url', url }, description: 'The sky.' }],
    }
    await git.add('ann/market', commit(writing({ '.plugin/marketplace.json': JSON.stringify(list) })))
    rig = await AgentRig.start([], reaching(git))
  })
  after(async () => {
    await rig[Symbol.asyncDispose]()
    await git[Symbol.asyncDispose]()
  })
  const request = caller(() => rig)
  const install = async (source: string, more: object = {}): Promise<InstalledPluginResponse> => {
    const { status, text, body } = await request('POST', '/api/plugins/install', { source, ...more })
    assert.equal(status, 200, text)
    return InstalledPluginResponse.parse(body)
  }
  const uninstall = (name: string) => request('DELETE', `/api/plugins/installed/${name}`)
  const toldTo = (talk: Talk): string => JSON.stringify(talk.questions.map(({ body }) => body))

  /** Uses all that the plugin brings. */
  const using = (_: Seen, n: number) => (n % 2 === 0 ? call('echo', { text: 'the sky' }) : finish())
  const assertUsed = (talk: Talk) => {
    const told = toldTo(talk)
    for (const words of [
      /About clouds\./,
      /Tell the weather of/,
      /CONTEXT of the plugin/,
      /good heard the sky/,
      /forecaster: Looks ahead/,
    ])
      assert.match(told, words)
  }
  const order = (more: object) => ({
    say: '/weather:now Bern',
    agent: { tools: [{ name: 'terminal' }, { name: 'task_tool_set' }] },
    script: using,
    ...more,
  })

  test('are installed, listed, switched off, refreshed and uninstalled', async () => {
    const told = await install(url)
    assert.deepEqual([told.name, told.version, told.install_path], ['weather', '2.0.0', 'installed/plugins/weather'])
    assert.equal(told.resolved_ref, git.sh('ann/weather', 'git rev-parse main'))
    assert.deepEqual(
      told.skills?.map(({ name }) => name),
      ['clouds', 'weather:now'],
    )
    assert.ok(told.files?.includes('hooks/hello.sh') && !told.files.some(file => file.startsWith('.git/')))
    assert.deepEqual((await request('GET', '/api/plugins/installed')).body, { plugins: [told] })
    assert.deepEqual((await request('GET', '/api/plugins/installed/weather')).body, told)
    assert.equal((await request('POST', '/api/plugins/install', { source: url })).status, 409)
    const available = async () => (await request('POST', '/api/plugins', {})).body.plugins
    assert.deepEqual(
      (await available()).map(({ name, path }: { name: string; path: string }) => [name, path]),
      [['weather', 'installed/plugins/weather']],
    )
    await request('PATCH', '/api/plugins/installed/weather', { enabled: false })
    assert.deepEqual(await available(), [])
    const refused = await request('POST', '/api/conversations', {
      agent: { llm: rig.model.llm() },
      workspace: { working_dir: '/workspace/off' },
      plugins: [{ source: 'weather' }],
    })
    assert.deepEqual([refused.status, /switched off/.test(refused.text)], [400, true])
    const { body } = await request('POST', '/api/plugins/installed/weather/refresh')
    assert.deepEqual([body.message, body.plugin.enabled], ["Plugin 'weather' updated", false])
    assert.deepEqual((await uninstall('weather')).body, { message: "Plugin 'weather' uninstalled" })
    assert.equal((await request('GET', '/api/plugins/installed/weather')).status, 404)
  })

  test('give a conversation all they bring: fetched for it, and kept across a restart', async () => {
    const talk = await rig.begin(order({ plugins: [{ source: url }] }))
    await talk.comesTo('finished')
    assertUsed(talk)
    await rig.restart('SIGKILL')
    git.hosted.set('ann/weather', { answer: 500 })
    await talk.say('again')
    await talk.comesTo('finished')
    assert.equal(toldTo(talk).split('good heard the sky').length > 3, true)
    git.hosted.set('ann/weather', {})
  })

  test('that are installed are those a person said yes to, whatever their source has by now', async () => {
    await git.add('ann/pinned', commit(writing({ ...WEATHER, '.claude-plugin/plugin.json': '{"name": "pinned"}' })))
    const source = `http://${git.host}/ann/pinned.git`
    await install(source)
    await git.change('ann/pinned', commit(writing({ 'hooks/hello.sh': 'echo evil' })))
    const before = git.asked.length
    const names = [source, 'installed/plugins/pinned', 'pinned'].slice(0, count({ sample: 1, deep: 3 }))
    for (const named of names) {
      const talk = await rig.begin(order({ say: '/pinned:now', plugins: [{ source: named }] }))
      await talk.comesTo('finished')
      assertUsed(talk)
      assert.doesNotMatch(toldTo(talk), /evil/)
    }
    assert.equal(git.asked.length, before, 'it was fetched again')
    await uninstall('pinned')
  })

  sometimes('that cannot be had refuse the order, and no conversation is there', async () => {
    const start = (plugins: object[]) =>
      request('POST', '/api/conversations', {
        agent: { llm: rig.model.llm() },
        workspace: { working_dir: '/workspace/none' },
        plugins,
      })
    const total = async () => (await request('GET', '/api/conversations/count')).text
    const before = await total()
    for (const [plugins, status, words] of [
      [[{ source: 'absent' }], 422, /plugins: .*is no source/],
      [[{ source: `http://${git.host}/ann/absent.git` }], 400, /shows no repository/],
      [[{ source: `http://${git.host}/ann/market.git` }], 422, /no plugin/],
      [Array.from({ length: 21 }, () => ({ source: url })), 422, /20 at most/],
    ] as const) {
      const answer = await start([...plugins])
      assert.deepEqual([answer.status, words.test(answer.text)], [status, true], answer.text)
    }
    assert.equal(await total(), before)
  })

  test('are loaded by a conversation that is under way, by name, by marketplace and by source', async () => {
    const marketplace = { name: 'sky', source: `http://${git.host}/ann/market.git` }
    const load = (talk: Talk, plugin_ref: string) =>
      request('POST', `/api/conversations/${talk.id}/load_plugin`, { plugin_ref })
    const references = ['weather@sky', url, 'weather'].slice(0, count({ sample: 1, deep: 3 }))
    for (const reference of references) {
      if (reference === 'weather') await install(url)
      const talk = await rig.begin({
        agent: { tools: [{ name: 'task_tool_set' }], agent_context: { registered_marketplaces: [marketplace] } },
        say: 'hello',
        script: (seen, n) => (n === 0 ? say('hello') : using(seen, n + 1)),
      })
      await talk.comesTo('finished')
      const { status, body, text } = await load(talk, reference)
      assert.deepEqual([status, body], [200, { success: true }], text)
      await talk.say('/weather:now Bern')
      await until('it was asked three times', () => talk.asked === 3)
      await talk.comesTo('finished')
      const told = toldTo(talk)
      for (const words of [/Tell the weather of/, /good heard the sky/, /forecaster: Looks ahead/])
        assert.match(told, words)
      await talk.checkedEvents()
      assert.equal((await talk.info()).agent.mcp_config.sky?.command, PYTHON)
    }
    await uninstall('weather')
    const talk = await rig.begin()
    for (const [reference, words] of [
      ['weather', /no marketplace registered/],
      ['weather@sky', /no marketplace registered/],
      ['ftp://x', /is no source/],
    ] as const) {
      const answer = await load(talk, reference)
      assert.deepEqual([answer.status, words.test(answer.text)], [400, true], answer.text)
    }
    const nobody = await request('POST', `/api/conversations/${crypto.randomUUID()}/load_plugin`, { plugin_ref: url })
    assert.equal(nobody.status, 404)
  })

  sometimes('that are loaded during a run leave it alone, and are there in the next', async () => {
    const talk = await rig.begin({
      say: 'go',
      script: (_, n) => [sh(held('plugin')), finish(), call('echo', { text: 'later' }), finish()][n]!,
    })
    const folder = (await talk.info()).workspace.working_dir
    await until('it runs', () => inDefault(rig.server, `[ -e ${folder}/plugin.begun ] && echo yes || true`))
    const { status } = await request('POST', `/api/conversations/${talk.id}/load_plugin`, { plugin_ref: url })
    assert.equal(status, 200)
    await inDefault(rig.server, `touch ${folder}/plugin.go`)
    await talk.comesTo('finished')
    assert.equal((await talk.notation()).includes('Error terminal'), false)
    assert.doesNotMatch(toldTo(talk), /"echo"/)
    await talk.say('and now')
    await until('it was asked four times', () => talk.asked === 4)
    await talk.comesTo('finished')
    assert.match(toldTo(talk), /good heard later/)
  })

  sometimes('that need a token are installed by whoever has the key, and never fetched for an order', async () => {
    await git.add('ann/private', commit(writing({ 'commands/hidden.md': 'Hidden.' })), { token: TOKEN })
    await useAsGithub(rig.server, git, TOKEN)
    const source = `http://${git.host}/ann/private.git`
    const start = (more: object) =>
      request('POST', '/api/conversations', {
        agent: { llm: rig.model.llm() },
        workspace: { working_dir: '/workspace/private' },
        plugins: [{ source }],
        ...more,
      })
    const refused = await start({})
    assert.deepEqual([refused.status, /shows no repository/.test(refused.text)], [400, true], refused.text)
    const offline = await start({ plugins: [{ source: url }], egress: { mode: 'none', hosts: [] } })
    assert.deepEqual([offline.status, /network policy/.test(offline.text)], [400, true], offline.text)
    assert.equal((await install(source)).name, 'private')
    assert.equal((await start({})).status, 201)
    assert.ok(git.asked.some(({ token }) => token === TOKEN))
    await uninstall('private')
  })

  sometimes('work in a sandbox of their own conversation, and come with an order for a conversation', async () => {
    const { body } = await request('POST', '/api/v1/app-conversations', {
      plugins: [{ source: url, parameters: { city: 'Bern' } }],
      initial_message: { content: [{ type: 'text', text: 'go' }] },
    })
    const task = await over(rig.server, body.id)
    assert.equal(task.status, 'READY', task.detail ?? '')
    const answer = await request('GET', `/api/conversations/${task.app_conversation_id}?include_skills=true`)
    const { agent, hook_config } = answer.body
    const [hook] = hook_config.session_start[0].hooks
    assert.ok(agent.agent_context.skills.some(({ name }: { name: string }) => name === 'weather:now'))
    const path = /\/\S+hello\.sh/.exec(hook.command)![0]
    const ran = await request('POST', `/sandboxes/${task.sandbox_id}/api/bash/execute_bash_command`, {
      command: `sh ${path}`,
    })
    assert.match(ran.body.stdout, /CONTEXT of the plugin/)
    const log = await request('GET', `/api/conversations/${task.app_conversation_id}/events/search`)
    assert.match(log.text, /Parameters for the plugin .*Bern/)
    const refused = await request('POST', '/api/v1/app-conversations', { plugins: [{ source: 'absent' }] })
    assert.deepEqual([refused.status, /plugins: /.test(refused.text)], [422, true])
  })

  sometimes('of a project are listed for whoever is in its sandbox, and named by their path', async () => {
    const box = await Box.start(rig.server)
    await box.sh(`mkdir -p /workspace/p && cd /workspace/p && ${writing(WEATHER, '.agents/plugins/weather')}
      mkdir -p .agents/plugins/broken/.plugin && echo '{' >.agents/plugins/broken/.plugin/plugin.json`)
    const { plugins } = await box.client.listPlugins({ body: { project_dir: '/workspace/p', load_user: false } })
    assert.deepEqual(
      plugins.map(({ name, path, version }) => [name, path, version]),
      [['weather', '/workspace/p/.agents/plugins/weather', '2.0.0']],
    )
    const info = await box.client.startConversation({
      body: {
        agent: { kind: 'Agent', llm: rig.model.llm() },
        workspace: { working_dir: '/workspace/p' },
        plugins: [{ source: plugins[0]!.path! }],
      },
    })
    assert.equal(info.agent.mcp_config.sky?.command, PYTHON)
    assert.equal(
      await inDefault(
        rig.server,
        'ls ~/.agents/installed/plugins/*/weather/sky.py >/dev/null 2>&1 && echo here || echo not',
      ),
      'here',
    )
    assert.match(await box.sh('ls ~/.agents/installed/plugins/*/weather'), /sky\.py/)
  })

  test('are offered by marketplaces: none where none is registered', async () => {
    assert.deepEqual((await request('GET', '/api/plugins/marketplace')).body, { plugins: [] })
  })
})
