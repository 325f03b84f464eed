import assert from 'node:assert/strict'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { trustNeeded } from '../../src/agent/skills/trust.ts'
import { SkillInfo, SkillsRequest } from '../../src/api/skill-library.ts'
import { makeLog } from '../../src/lib/log.ts'
import { SkillsElsewhere } from '../../src/library/skills-elsewhere.ts'
import { ProcessBackend } from '../../src/sandbox/process.ts'
import { SkillLibrary } from '../../src/settings/skill-library.ts'
import { readUserSkills } from '../../src/settings/user-skills.ts'
import { AgentRig } from '../support/agent.ts'
import { GitServer, NO_GIT_SERVER } from '../support/git-server.ts'
import { ask, Box, NO_WALLS } from '../support/hands.ts'
import { say } from '../support/model-server.ts'
import { commit, writing } from '../support/packages.ts'
import { type TestServer, tempFolder } from '../support/server.ts'
import { reaching } from '../support/starts.ts'

let rig: AgentRig
let server: TestServer
before(async () => {
  const registered = { name: 'public', source: '/workspace/public', auto_load: ['usual'] }
  rig = await AgentRig.start([], { env: { OH_REGISTERED_MARKETPLACES: JSON.stringify([registered]) } })
  server = rig.server
})
after(async () => {
  await rig[Symbol.asyncDispose]()
  for (const folder of folders) await rm(folder, { recursive: true, force: true })
})

const folders: string[] = []
async function newFolder(): Promise<string> {
  const folder = await tempFolder()
  folders.push(folder)
  return folder
}

async function keep(folder: string, files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
}
const sh = async (command: string) => {
  const { exit_code, stderr } = await server.client.executeBashCommand({ body: { command } })
  assert.equal(exit_code, 0, `${stderr}`)
}
const post = (path: string, body: unknown) => ask(server, 'POST', path, { key: server.key, body })
const names = (skills: { name: string }[]) => skills.map(({ name }) => name)

describe('skills that the user keeps', () => {
  test('are none where there is no folder', async () => {
    assert.deepEqual(await readUserSkills('/nowhere'), { skills: [], problems: [] })
  })

  test('are every NAME.md and NAME/SKILL.md, by name, and nothing else', async () => {
    const folder = await newFolder()
    await keep(folder, {
      'b.md': 'always',
      'a/SKILL.md': '---\ndescription: a package\n---\nhow to a',
      'a/more.md': 'no skill',
      'empty/notes.txt': 'no skill',
      'README.md': 'no skill',
      '.hidden.md': 'no skill',
      'task.md': '---\ntriggers: [/task]\n---\nhow to task',
    })
    const { skills, problems } = await readUserSkills(folder)
    assert.deepEqual(problems, [])
    assert.deepEqual(names(skills), ['a', 'b', 'task'])
    assert.equal(skills[0]!.description, 'a package')
    assert.ok(skills[0]!.is_agentskills_format && !skills[1]!.is_agentskills_format)
    // No sandbox sees that folder: its path would lead a model nowhere, and is nobody's business.
    assert.deepEqual(
      skills.map(({ source }) => source),
      ['user/a/SKILL.md', 'user/b.md', 'user/task.md'],
    )
  })

  test('are trusted: what a project may not ask for, the user may', async () => {
    const folder = await newFolder()
    await keep(folder, { 'x.md': '---\nallowed-tools: [terminal]\n---\nx' })
    const { skills, problems } = await readUserSkills(folder)
    assert.deepEqual([skills[0]!.allowed_tools, problems], [['terminal'], []])
  })

  test('are bounded in number and length, and one that cannot be read harms only itself', async () => {
    const folder = await newFolder()
    const many = Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`s${String(i).padStart(3, '0')}.md`, 'x']))
    await keep(folder, { ...many, 's001.md': 'y'.repeat(64 * 1024 + 1), 's002.md': '---\nnever ends', 's004/x': 'x' })
    const { skills, problems } = await readUserSkills(folder)
    assert.equal(skills.find(({ name }) => name === 's001')!.content.length, 64 * 1024)
    assert.ok(!names(skills).includes('s002') && skills.length === 98)
    assert.equal(problems.length, 3)
    assert.match(problems.join('\n'), /more than 100[\s\S]*s001.md: only the first[\s\S]*s002.md: /)
  })

  test('that have one name are one: the first, and the other is reported', async () => {
    const folder = await newFolder()
    await keep(folder, { 'a.md': '---\nname: same\n---\nfirst', 'b.md': '---\nname: same\n---\nsecond' })
    const { skills, problems } = await readUserSkills(folder)
    assert.deepEqual([names(skills), skills[0]!.content], [['same'], 'first'])
    assert.match(problems[0]!, /b\.md: there is another skill named same/)
  })
})

describe('what agents could be taught, over HTTP', () => {
  before(async () => {
    await keep(join(server.data, 'skills'), {
      'style.md': 'The style of the user.',
      'deploy/SKILL.md': '---\ndescription: How to deploy.\n---\nThe deployment of the user.',
      'word.md': '---\ntriggers: [magic]\n---\nThe magic of the user.',
      'release.md': '---\ntriggers: [/release]\n---\nThe release of the user.',
    })
    await sh(`mkdir -p /workspace/taught/.openhands/skills && cd /workspace/taught &&
      echo 'The rules of the project.' >AGENTS.md && echo 'The style of the project.' >.openhands/skills/style.md &&
      printf -- '---\\nallowed-tools: [terminal]\\n---\\ngreedy' >.openhands/skills/greedy.md`)
  })

  test('/api/v1/skills/search lists those that every conversation can have, in pages by name', async () => {
    const search = async (query: string) => (await ask(server, 'GET', `/api/v1/skills/search${query}`)).body
    const all = await search('')
    assert.deepEqual(all, {
      items: [
        { name: 'deploy', type: 'agentskills', source: 'user', triggers: [] },
        { name: 'release', type: 'task', source: 'user', triggers: ['/release'] },
        { name: 'style', type: 'repo', source: 'user', triggers: [] },
        { name: 'word', type: 'knowledge', source: 'user', triggers: ['magic'] },
      ],
      next_page_id: null,
    })
    const first = await search('?limit=3')
    assert.deepEqual([first.items, first.next_page_id], [all.items.slice(0, 3), 'style'])
    const second = await search('?limit=3&page_id=style')
    assert.deepEqual([second.items, second.next_page_id], [all.items.slice(3), null])
    assert.equal((await ask(server, 'GET', '/api/v1/skills/search?limit=0')).status, 422)
  })

  test('/api/skills reads those of the user and of a project, and of one name the project’s', async () => {
    const { status, body } = await post('/api/skills', { project_dir: '/workspace/taught', load_public: true })
    assert.equal(status, 200)
    for (const skill of body.skills) assert.deepEqual(SkillInfo.strict().parse(skill), skill)
    assert.deepEqual(names(body.skills).sort(), ['agents', 'deploy', 'greedy', 'release', 'style', 'word'])
    const style = body.skills.find(({ name }: { name: string }) => name === 'style')
    assert.equal(style.content.trim(), 'The style of the project.')
    assert.deepEqual(body.sources, { sandbox: 0, registered_marketplaces: 0, sdk_base: 4, org: 0, project: 3 })
  })

  test('/api/skills takes a folder from where the sandbox works, and leaves out what is not asked for', async () => {
    const project = async (project_dir: string | null, more: object = {}) =>
      names((await post('/api/skills', { load_user: false, project_dir, ...more })).body.skills)
    assert.deepEqual((await project('../taught')).sort(), ['agents', 'greedy', 'style'])
    assert.deepEqual(await project('../taught', { load_project: false }), [])
    for (const nothing of [null, '/workspace/absent', '/workspace/taught/AGENTS.md'])
      assert.deepEqual(await project(nothing), [])
    assert.deepEqual((await post('/api/skills', { load_project: false })).body.sources.sdk_base, 4)
    assert.equal((await post('/api/skills', { project_dir: 'a\0b' })).status, 400)
    assert.equal((await post('/api/skills', { project_dir: 7 })).status, 422)
  })

  test('/api/skills looks into the sandbox that a caller is confined to', { skip: NO_WALLS }, async () => {
    const box = await Box.start(server)
    await box.sh('mkdir -p /workspace/taught && echo only here >/workspace/taught/CLAUDE.md')
    const { skills } = await box.client.loadSkills({ body: { load_user: false, project_dir: '/workspace/taught' } })
    assert.deepEqual(names(skills), ['claude'])
  })

  test('/api/skills loads what marketplaces are to load by themselves, and tells where it comes from', async () => {
    const skill = (text: string) => `---\\ndescription: d\\n---\\n${text}`
    const list = JSON.stringify({
      plugins: [
        { name: 'one', source: './skills/one' },
        { name: 'two', source: './skills/two' },
        { name: 'kit', source: './plugins/kit' },
        { name: 'absent', source: './skills/absent' },
      ],
    })
    await sh(`mkdir -p /workspace/stall/.plugin /workspace/stall/skills/one /workspace/stall/skills/two \
        /workspace/stall/plugins/kit/skills && cd /workspace/stall && echo '${list}' >.plugin/marketplace.json &&
      printf -- '${skill('One.')}' >skills/one/SKILL.md && printf -- '${skill('Two.')}' >skills/two/SKILL.md &&
      echo 'Of the kit.' >plugins/kit/skills/tool.md`)
    const loaded = async (...registered_marketplaces: object[]) => {
      const request = { load_user: false, load_project: false, registered_marketplaces }
      const { status, body } = await post('/api/skills', request)
      assert.equal(status, 200)
      assert.equal(body.sources.registered_marketplaces, body.skills.length)
      return body.skills as SkillInfo[]
    }
    const stall = { name: 'stall', source: '/workspace/stall' }
    assert.deepEqual(await loaded(stall, { ...stall, auto_load: [] }), [])
    const [two, ...none] = await loaded({ ...stall, auto_load: ['two', 'unknown'] })
    assert.deepEqual([two!.content.trim(), two!.source, none], ['Two.', '/workspace/stall/skills/two', []])
    const broken = { name: 'broken', source: '/workspace/absent', auto_load: true }
    assert.deepEqual(names(await loaded(broken, { ...stall, auto_load: true })), ['one', 'two', 'tool'])
  })

  test('/api/skills loads the public skills of the marketplaces this server was set up with', async () => {
    const list = (name: string) => JSON.stringify({ plugins: [{ name, source: `./skills/${name}` }] })
    await sh(`mkdir -p /workspace/public/marketplaces /workspace/public/skills/usual /workspace/public/skills/special &&
      cd /workspace/public && echo usual >skills/usual/SKILL.md && echo special >skills/special/SKILL.md &&
      echo '${list('usual')}' >marketplaces/default.json && echo '${list('special')}' >marketplaces/special.json`)
    const loaded = async (more: object) => {
      const { body } = await post('/api/skills', { load_user: false, ...more })
      assert.equal(body.sources.sdk_base, body.skills.length)
      return names(body.skills)
    }
    assert.deepEqual(await loaded({}), ['usual'])
    assert.deepEqual(await loaded({ load_public: false }), [])
    // What is there is offered, but not to be loaded by itself.
    assert.deepEqual(await loaded({ marketplace_path: 'marketplaces/special.json' }), [])
    await sh(`echo '${list('special')}' >/workspace/public/marketplace.json`)
    assert.deepEqual(await loaded({ marketplace_path: null }), ['special'])
    for (const marketplace_path of ['/etc/passwd', '../x', 'a/../../x', '..'])
      assert.equal((await post('/api/skills', { marketplace_path })).status, 422, marketplace_path)
    await sh('rm -r /workspace/public')
  })

  test('/api/skills tells where a person sees what listens in the sandbox', async () => {
    const urls = ['AGENT_SERVER', 'WORKER_1', 'WORKER_2'].map((name, i) => ({
      name,
      url: `http://h/${i}`,
      port: 8000 + i,
    }))
    const loaded = async (exposed_urls: object[]) => {
      const request = { load_user: false, load_public: false, sandbox_config: { exposed_urls } }
      return (await post('/api/skills', request)).body
    }
    const { skills, sources } = await loaded(urls)
    assert.deepEqual([names(skills), sources.sandbox], [['work_hosts'], 1])
    assert.match(skills[0].content, /8001: http:\/\/h\/1\n.*8002: http:\/\/h\/2$/)
    assert.doesNotMatch(skills[0].content, /8000/)
    assert.deepEqual((await loaded(urls.slice(0, 1))).skills, [])
  })

  test('/api/v1/skills/marketplace-skills tells what marketplaces offer, and which cannot be read', async () => {
    const list = {
      name: 'mine',
      plugins: [
        { name: 'a-skill', source: './skills/a-skill' },
        { name: 'a-plugin', source: './plugins/a-plugin', description: 'Does it.' },
      ],
    }
    await sh(
      `mkdir -p /workspace/market/.plugin && echo '${JSON.stringify(list)}' >/workspace/market/.plugin/marketplace.json`,
    )
    const { status, body } = await post('/api/v1/skills/marketplace-skills', [
      { name: 'mine', source: '/workspace/market', scope: 'personal' },
      { name: 'absent', source: '/workspace/absent', auto_load: true },
      { name: 'no-source', source: 'x' },
    ])
    assert.equal(status, 200)
    assert.deepEqual(
      { ...body, errors: body.errors.map((error: string) => error.split(':')[0]) },
      {
        skills: [{ name: 'a-skill', type: 'agentskills', source: 'global', triggers: null }],
        plugins: [
          {
            name: 'a-plugin',
            description: 'Does it.',
            source: '/workspace/market/plugins/a-plugin',
            marketplace: 'mine',
          },
        ],
        marketplace_skills: { mine: ['a-skill'] },
        errors: ['absent', 'no-source'],
      },
    )
    assert.equal((await post('/api/v1/skills/marketplace-skills', [{ name: 'one' }])).status, 422)
  })

  test('a conversation that asks for the user’s skills has them, as they are now, under those of the project', async () => {
    const begin = async (agent_context: object) => {
      let prompt = ''
      const talk = await rig.begin({
        say: 'go',
        agent: { agent_context },
        workspace: { working_dir: '/workspace/taught' },
        script: seen => {
          prompt = JSON.stringify(seen.messages)
          return say('yes')
        },
      })
      await talk.comesTo('finished')
      return prompt
    }
    assert.match(await begin({ load_user_skills: true }), /The style of the user\.[\s\S]*deploy: How to deploy\./)
    assert.doesNotMatch(await begin({}), /of the user\.|How to deploy/)
    assert.doesNotMatch(await begin({ load_user_skills: true, disabled_skills: ['style'] }), /The style of the user/)
    const both = await begin({ load_user_skills: true, load_project_skills: true })
    assert.match(both, /The style of the project\./)
    assert.match(both, /How to deploy\./)
    assert.doesNotMatch(both, /The style of the user\./)
    await writeFile(join(server.data, 'skills/style.md'), 'Another style of the user.')
    assert.match(await begin({ load_user_skills: true }), /Another style of the user\./)
  })
})

describe('skills of an organisation', { skip: NO_GIT_SERVER || NO_WALLS }, () => {
  test('/api/skills fetches them with the token in their address, which nobody reads', async () => {
    const token = 'token-of-the-organisation'
    await using git = await GitServer.open()
    const files = {
      'skills/rule.md': 'The rule.',
      'microagents/old.md': 'Old.',
      'README.md': 'no',
      'skills/README.md': 'no',
    }
    await git.add('acme/config', commit(writing(files)), { token })
    await using rig = await AgentRig.start([], reaching(git))
    const load = async (given: string, more: object = {}) => {
      const org_repo_url = `http://x-access-token:${given}@${git.host}/acme/config.git`
      const org = { repository: 'acme/app', provider: 'github', org_repo_url, org_name: 'acme' }
      const body = { load_user: false, org_configs: [org], ...more }
      const answer = await ask(rig.server, 'POST', '/api/skills', { key: rig.server.key, body })
      assert.equal(answer.status, 200)
      return answer.body
    }
    const { skills, sources } = await load(token)
    assert.deepEqual([names(skills).sort(), sources.org], [['old', 'rule'], 2])
    for (const wrong of ['wrong-token', '%', 'a%0Apassword=b']) assert.deepEqual((await load(wrong)).skills, [], wrong)
    const nowhere = { repository: 'r', provider: 'p', org_repo_url: 'http://[', org_name: 'acme' }
    assert.deepEqual((await load(token, { org_configs: [nowhere] })).skills, [])
    const asked = git.asked.length
    assert.deepEqual((await load(token, { load_org: false })).skills, [])
    assert.equal(git.asked.length, asked)
    const only = { repository: 'r', provider: 'p', org_repo_url: `http://${token}@${git.host}/acme/config.git` }
    const one = await load(token, { org_configs: null, org_config: { ...only, org_name: 'acme' } })
    assert.deepEqual(names(one.skills).sort(), ['old', 'rule'])
    assert.equal((await rig.call('POST', '/api/skills', { org_config: only })).status, 422)
    const left = await rig.server.client.executeBashCommand({
      body: { command: `grep -rlF ${token.slice(0, 12)} ~ /tmp` },
    })
    assert.equal(left.stdout ?? '', '')
    for (const said of [rig.server.output, JSON.stringify([skills, one])])
      for (const secret of [token, 'wrong-token']) assert.ok(!said.includes(secret))
    const refused = await rig.call('POST', '/api/skills', { org_config: { ...only, provider: 7 } })
    assert.equal(refused.status, 422)
    assert.ok(!JSON.stringify(refused.body).includes(token))
  })
})

describe('hooks of a project', () => {
  const HOOKS = JSON.stringify({ Stop: [{ hooks: [{ command: 'curl evil' }] }] })

  test('are not handed out: nothing that a project brings runs before somebody approved it', async () => {
    await sh(`mkdir -p /workspace/hooked/.openhands && echo '${HOOKS}' >/workspace/hooked/.openhands/hooks.json`)
    for (const project_dir of ['/workspace/hooked', '/workspace/absent', null]) {
      const { status, body } = await post('/api/hooks', { project_dir })
      assert.deepEqual([status, body], [200, { hook_config: null }])
    }
  })

  test('are read once approved, and only those very bytes', async () => {
    const { library, approved, folder, lines } = await withoutWalls()
    const write = (text: string) => keep(folder, { '.openhands/hooks.json': text })
    assert.equal(await library.hooks(folder), null)
    await write(HOOKS)
    const { hash } = trustNeeded('hooks', HOOKS)!
    assert.equal(await library.hooks(folder), null)
    assert.ok(lines.some(line => line.includes(hash)))
    approved.add(hash)
    assert.equal((await library.hooks(folder))?.stop[0]?.hooks[0]?.command, 'curl evil')
    await write(`${HOOKS}\n`)
    assert.equal(await library.hooks(folder), null)
    await write('no json')
    assert.equal(await library.hooks(folder), null)
  })
})

describe('without walls', () => {
  test('no folder of this machine is looked into that was not granted', async () => {
    const { library, folder } = await withoutWalls()
    const load = (project_dir: string) => library.load(SkillsRequest.parse({ load_user: false, project_dir }))
    assert.deepEqual((await load(folder)).skills, [])
    await keep(folder, { 'AGENTS.md': 'granted' })
    assert.deepEqual(names((await load(folder)).skills), ['agents'])
    for (const elsewhere of ['/etc', `${folder}/..`, '/']) {
      await assert.rejects(load(elsewhere), { code: 'outside_workspace' })
      await assert.rejects(library.hooks(elsewhere), { code: 'outside_workspace' })
    }
  })
})

/** A library over a sandbox that is plain processes and has been granted one folder. */
async function withoutWalls() {
  const folder = await newFolder()
  const backend = new ProcessBackend(await newFolder())
  after(() => backend.close())
  const limits = { memoryBytes: 1e9, processes: 100, cpus: 1, diskBytes: 1e9 }
  const grants = [{ path: folder, readOnly: false }]
  await backend.start({ id: 'a', workingDir: '/w', env: {}, limits, egress: { mode: 'none' }, grants })
  const lines: string[] = []
  const approved = new Set<string>()
  const library = new SkillLibrary({
    reach: async () => backend.sandbox('a'),
    userSkills: async () => ({ skills: [], problems: [] }),
    elsewhere: new SkillsElsewhere({ registered: [], list: () => assert.fail(), fetch: () => assert.fail() }),
    approved: async () => approved,
    log: makeLog('info', line => lines.push(line)),
  })
  return { library, approved, folder, lines }
}
