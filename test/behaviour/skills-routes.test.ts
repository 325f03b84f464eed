import assert from 'node:assert/strict'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { trustNeeded } from '../../src/agent/skills/trust.ts'
import { SkillInfo } from '../../src/api/skill-library.ts'
import { makeLog } from '../../src/lib/log.ts'
import { ProcessBackend } from '../../src/sandbox/process.ts'
import { SkillLibrary } from '../../src/settings/skill-library.ts'
import { readUserSkills } from '../../src/settings/user-skills.ts'
import { AgentRig } from '../support/agent.ts'
import { ask, Box, NO_WALLS } from '../support/hands.ts'
import { say } from '../support/model-server.ts'
import { type TestServer, tempFolder } from '../support/server.ts'

let rig: AgentRig
let server: TestServer
before(async () => {
  rig = await AgentRig.start()
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
    const load = (project_dir: string) => library.load({ load_user: false, load_project: true, project_dir })
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
    approved: async () => approved,
    log: makeLog('info', line => lines.push(line)),
  })
  return { library, approved, folder, lines }
}
