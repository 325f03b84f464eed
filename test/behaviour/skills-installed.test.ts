import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { InstalledSkillResponse } from '../../src/api/installed-skills.ts'
import { AgentRig } from '../support/agent.ts'
import { GitServer, NO_GIT_SERVER } from '../support/git-server.ts'
import { NO_WALLS } from '../support/hands.ts'
import { NO_PYTHON, PYTHON } from '../support/inside.ts'
import { stdio } from '../support/mcp-stdio.ts'
import { call, finish, type Seen, say } from '../support/model-server.ts'
import { caller, commit, sh, writing } from '../support/packages.ts'
import { sampled } from '../support/sampled.ts'
import { count, DEEP } from '../support/server.ts'
import { reaching } from '../support/starts.ts'

const GREETING =
  '---\nname: greeting\ndescription: How to greet.\nversion: 1.2.3\n---\nSay hello with scripts/hello.sh.'
const skill = (name: string, text = `The text of ${name}.`) =>
  `---\nname: ${name}\ndescription: About ${name}.\n---\n${text}`

let git: GitServer
let rig: AgentRig
before(async () => {
  git = await GitServer.open()
  await git.add(
    'ann/skills',
    `${commit(writing({ 'SKILL.md': skill('whole', 'first'), 'skills/deep/SKILL.md': skill('deep') }))}
     git tag v1; ${commit(writing({ 'SKILL.md': skill('whole', 'second') }))}; ln -s /etc skills/out; ${commit('true')}`,
  )
  await git.add(
    'ann/market',
    commit(
      writing({
        '.claude-plugin/marketplace.json': JSON.stringify({
          name: 'team',
          owner: { name: 'Ann' },
          plugins: [
            { name: 'offered', source: './skills/offered', description: 'From the market.' },
            { name: 'tool', source: './plugins/tool' },
          ],
        }),
        'skills/offered/SKILL.md': skill('offered'),
        'plugins/tool/commands/go.md': 'Go.',
      }),
    ),
  )
  const registered = { name: 'team', source: `http://${git.host}/ann/market.git` }
  const { env } = reaching(git)
  rig = await AgentRig.start([], { env: { ...env, OH_REGISTERED_MARKETPLACES: JSON.stringify([registered]) } })
})
after(async () => {
  await rig[Symbol.asyncDispose]()
  await git[Symbol.asyncDispose]()
})

const request = caller(() => rig)
const install = (source: string, more: object = {}) => request('POST', '/api/skills/install', { source, ...more })
const installed = async (source: string, more: object = {}): Promise<InstalledSkillResponse> => {
  const { status, text, body } = await install(source, more)
  assert.equal(status, 200, text)
  return InstalledSkillResponse.parse(body)
}
const one = (name: string) => request('GET', `/api/skills/installed/${name}`)
const remove = (name: string) => request('DELETE', `/api/skills/installed/${name}`)
const folder = (path: string, files: Record<string, string>) =>
  sh(rig.server, `rm -rf ${path}; mkdir -p ${path}; ${writing(files, path)}`)

/** Each takes a second or two, and stands by itself. */
const sometimes = sampled(2)

describe('an installed skill', { skip: NO_WALLS || NO_GIT_SERVER }, () => {
  test('comes from a folder of the default sandbox, and is there until it is uninstalled, across a crash', async () => {
    await folder('/workspace/greeting', { 'SKILL.md': GREETING, 'scripts/hello.sh': 'echo hello' })
    const told = await installed('/workspace/greeting')
    assert.deepEqual(
      { ...told, installed_at: '' },
      {
        name: 'greeting',
        version: '1.2.3',
        description: 'How to greet.',
        enabled: true,
        source: '/workspace/greeting',
        resolved_ref: null,
        repo_path: null,
        installed_at: '',
        install_path: 'installed/skills/greeting',
      },
    )
    assert.match(told.installed_at, /^\d{4}-\d\d-\d\dT.*Z$/)
    await rig.restart('SIGKILL')
    assert.deepEqual((await one('greeting')).body, told)
    assert.deepEqual((await request('GET', '/api/skills/installed')).body, { skills: [told] })
    assert.deepEqual((await remove('greeting')).body, { message: "Skill 'greeting' uninstalled" })
    assert.deepEqual((await request('GET', '/api/skills/installed')).body, { skills: [] })
    for (const answer of [await one('greeting'), await remove('greeting')])
      assert.deepEqual([answer.status, answer.body.detail], [404, "Skill 'greeting' is not installed"])
  })

  sometimes('comes from a repository: its default branch, a tag, a commit, a folder of it', async () => {
    const url = `http://${git.host}/ann/skills.git`
    const head = git.sh('ann/skills', 'git rev-parse main')
    const tag = git.sh('ann/skills', 'git rev-parse v1')
    const cases: [more: object, name: string, commit: string, source?: string][] = [
      [{ repo_path: 'skills/deep' }, 'deep', head],
      [{ ref: tag, force: true }, 'whole', tag],
      [{ force: true }, 'whole', head],
      [{ ref: 'v1', force: true }, 'whole', tag],
      [{ force: true }, 'deep', tag, `${url}/tree/v1/skills/deep`],
    ]
    for (const [more, name, commit, source = url] of cases.slice(0, count({ sample: 2, deep: 5 }))) {
      const told = await installed(source, more)
      assert.deepEqual([told.name, told.resolved_ref], [name, commit])
    }
    assert.equal(await sh(rig.server, 'ls -A ~ | grep fetched; exit 0'), '', 'what was fetched is left behind')
    await remove('whole')
    await remove('deep')
  })

  sometimes('is not replaced but by force, and is not there twice', async () => {
    await folder('/workspace/twice', { 'SKILL.md': skill('twice', 'one') })
    await installed('/workspace/twice')
    await folder('/workspace/twice', { 'SKILL.md': skill('twice', 'two') })
    const refused = await install('/workspace/twice')
    assert.deepEqual(
      [refused.status, refused.body.detail],
      [409, "Skill 'twice' is already installed. Use force=true to overwrite."],
    )
    assert.match(await contentOf('twice'), /one/)
    await installed('/workspace/twice', { force: true })
    assert.match(await contentOf('twice'), /two/)
    await remove('twice')
  })

  test('is as its source has it only after a refresh, and as enabled as before', async () => {
    await git.add('ann/changing', commit(writing({ 'SKILL.md': skill('changing', 'before') })))
    await installed(`http://${git.host}/ann/changing.git`)
    const switched = await request('PATCH', '/api/skills/installed/changing', { enabled: false })
    assert.deepEqual(switched.body, { name: 'changing', enabled: false })
    await git.change('ann/changing', commit(writing({ 'SKILL.md': skill('changing', 'after') })))
    const { body } = await request('POST', '/api/skills/installed/changing/refresh')
    assert.deepEqual([body.message, body.skill.enabled], ["Skill 'changing' updated", false])
    assert.equal(body.skill.resolved_ref, git.sh('ann/changing', 'git rev-parse main'))
    assert.equal(await contentOf('changing'), '')
    await request('PATCH', '/api/skills/installed/changing', { enabled: true })
    assert.match(await contentOf('changing'), /after/)
    await git.change('ann/changing', commit(writing({ 'SKILL.md': skill('another') })))
    const renamed = await request('POST', '/api/skills/installed/changing/refresh')
    assert.deepEqual([renamed.status, /'another'/.test(renamed.body.detail)], [422, true])
    await remove('changing')
  })

  test('that cannot be is refused by its reason, and nothing is installed', async () => {
    await folder('/workspace/empty', { 'README.md': 'no skill' })
    await folder('/workspace/named', { 'SKILL.md': skill('Not A Name') })
    await folder('/workspace/broken', { 'SKILL.md': '---\nnever ends' })
    await folder('/workspace/large', { 'SKILL.md': skill('large') })
    await sh(rig.server, 'head -c 5000000 /dev/zero >/workspace/large/data')
    await folder('/workspace/many', { 'SKILL.md': skill('many') })
    await sh(rig.server, 'cd /workspace/many && for i in $(seq 501); do : >$i; done')
    const host = `http://${git.host}`
    const cases: [source: string, more: object, status: number, words: RegExp][] = [
      ['', {}, 422, /source/],
      ['nothing', {}, 400, /is no source/],
      ['ftp://x/y', {}, 400, /is no source/],
      ['git@github.com:a/b.git', {}, 400, /is no source/],
      [`http://user:word@${git.host}/ann/skills.git`, {}, 400, /must not hold what opens it/],
      ['/workspace/absent', {}, 400, /not found/i],
      ['/workspace/empty/README.md', {}, 400, /not a directory/],
      ['/workspace/empty', {}, 422, /SKILL\.md is missing/],
      ['/workspace/empty', { repo_path: 'x' }, 400, /repo_path is for repositories/],
      ['/workspace/named', {}, 422, /cannot be its name/],
      ['/workspace/broken', {}, 422, /frontmatter/],
      ['/workspace/large', {}, 422, /larger than/],
      ['/workspace/many', {}, 422, /larger than/],
      [`${host}/ann/absent.git`, {}, 400, /shows no repository/],
      [`${host}/ann/skills.git`, { ref: '--upload-pack=x' }, 400, /no branch, tag or commit/],
      [`${host}/ann/skills.git`, { ref: 'absent' }, 400, /absent/],
      [`${host}/ann/skills.git`, { repo_path: 'absent' }, 400, /no folder absent/],
      [`${host}/ann/skills.git`, { repo_path: '../x' }, 400, /leads out/],
      [`${host}/ann/skills.git`, { repo_path: 'skills/out' }, 400, /leads out/],
    ]
    for (const [source, more, status, words] of cases.filter(
      ([source], i) => DEEP || !source.includes('.git') || i % 2 === 0,
    )) {
      const answer = await install(source, more)
      assert.equal(answer.status, status, `${source} ${JSON.stringify(more)}: ${answer.text}`)
      assert.match(answer.text, words)
      assert.doesNotMatch(answer.text, /user:word/)
    }
    assert.deepEqual((await request('GET', '/api/skills/installed')).body, { skills: [] })
    assert.equal((await request('GET', '/api/skills/installed/..%2fx')).status, 422)
  })

  test('needs the key to change, and none on this machine to be looked at', async () => {
    const unkeyed = (method: string, path: string, body?: object) => request(method, path, body, null)
    assert.equal((await unkeyed('POST', '/api/skills/install', { source: '/x' })).status, 401)
    assert.equal((await unkeyed('GET', '/api/skills/installed')).status, 200)
  })

  test('is told to every new conversation that wants the skills of the user, its files beside it, unless switched off', async () => {
    await folder('/workspace/greeting', { 'SKILL.md': GREETING, 'scripts/hello.sh': 'echo hello from beside' })
    await sh(rig.server, 'chmod +x /workspace/greeting/scripts/hello.sh')
    await installed('/workspace/greeting')
    const first = await taught(seen => {
      const told = JSON.stringify(seen.messages)
      const root = /Paths in it are relative to ([^\s"\\]+)\./.exec(told)?.[1]
      return root
        ? call('terminal', { command: `${root}/scripts/hello.sh || sh ${root}/scripts/hello.sh` })
        : call('invoke_skill', { name: 'greeting' })
    })
    assert.match(first, /How to greet\./)
    assert.match(first, /Say hello with/)
    assert.match(first, /hello from beside/)
    await request('PATCH', '/api/skills/installed/greeting', { enabled: false })
    assert.doesNotMatch(await taught(() => say('nothing')), /How to greet\./)
    await remove('greeting')
  })

  sometimes('brings the servers it names, for somebody with the key installed it', { skip: NO_PYTHON }, async () => {
    await folder('/workspace/serving', {
      'SKILL.md': `---\nname: serving\ndescription: Serves.\nmcp_tools:\n  good:\n    command: ${PYTHON}\n    args: [/workspace/serving/server.py, good]\n---\nServe.`,
      'server.py': stdio('good').args![1]!,
    })
    await installed('/workspace/serving')
    const told = await taught(() => call('echo', { text: 'out there' }))
    assert.match(told, /good heard out there/)
    await remove('serving')
  })
})

describe('marketplaces', { skip: NO_WALLS || NO_GIT_SERVER }, () => {
  const offered = async () => (await request('GET', '/api/skills/marketplace')).body.skills

  sometimes('offer skills that can be installed by the source they name', async () => {
    const [offer, ...others] = await offered()
    assert.deepEqual(others, [])
    assert.deepEqual([offer.name, offer.description, offer.installed], ['offered', 'From the market.', false])
    await installed(offer.source)
    assert.equal((await offered())[0].installed, true)
    await remove('offered')
  })

  sometimes('are read again when that is asked for, and say what is wrong', async () => {
    const sync = async () => (await request('POST', '/api/skills/sync')).body
    assert.deepEqual(await sync(), { status: 'success', message: '1 marketplaces offer 2 packages' })
    await git.change('ann/market', commit('echo x >.claude-plugin/marketplace.json'))
    assert.equal((await offered()).length, 1)
    assert.deepEqual(await sync(), { status: 'error', message: 'team: Its list cannot be read' })
    assert.deepEqual(await offered(), [])
  })
})

/** As new conversations are told of it; empty when they are not. */
async function contentOf(name: string): Promise<string> {
  const { body } = await request('POST', '/api/skills', { load_project: false })
  return body.skills.find((skill: { name: string }) => skill.name === name)?.content ?? ''
}

/** All that the model of a new conversation is told; it acts until it has had two answers. */
async function taught(act: (seen: Seen) => ReturnType<typeof call> | ReturnType<typeof say>): Promise<string> {
  const talk = await rig.begin({
    say: 'go',
    agent: { agent_context: { load_user_skills: true } },
    script: (seen, n) => (n < 2 ? act(seen) : finish()),
  })
  await talk.comesTo('finished')
  return JSON.stringify(talk.questions.map(({ messages }) => messages))
}
