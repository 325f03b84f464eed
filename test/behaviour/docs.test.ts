import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdir, readFile, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { helpText } from '../../src/config.ts'
import { findProgram } from '../support/command.ts'
import { TestServer, tempFolder } from '../support/server.ts'

const root = join(import.meta.dirname, '../..')
const run = promisify(execFile)

interface Example {
  commands: string
  /** What it prints, where the page says so; `…` stands for anything. */
  prints: string | undefined
}

/** The blocks of shell in a page, each with the answer that follows it. */
function examplesIn(page: string): Example[] {
  const blocks = [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language, text]) => ({ language, text: text! }))
  return blocks.flatMap(({ language, text }, index) => {
    const next = blocks[index + 1]
    return language === 'sh' ? [{ commands: text, prints: next?.language === 'json' ? next.text : undefined }] : []
  })
}

const pattern = (text: string): RegExp => new RegExp(`^${text.trim().split('…').map(RegExp.escape).join('.*')}$`, 's')

const missing = ['curl', 'jq', 'bash'].filter(name => findProgram(name) === undefined)

test('the examples of the API page do what they say, one after the other', {
  skip: missing.length > 0 && `not installed: ${missing.join(', ')}`,
}, async () => {
  await using server = await TestServer.start()
  const examples = examplesIn(await readFile(join(root, 'docs/api.md'), 'utf8'))
  assert.ok(examples.length > 10)
  const mark = 'end of an example'
  const script = examples.map(({ commands }) => `${commands}\necho\necho '${mark}'`).join('\n')
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: await tempFolder(),
    env: { PATH: process.env.PATH, HOME: server.data, GANTRY: server.url, KEY: server.key },
    timeout: 60_000,
  }).catch(error => assert.fail(`${error.message}\n${error.stdout}`))
  const printed = stdout.split(mark)
  for (const [index, { prints, commands }] of examples.entries())
    if (prints !== undefined) assert.match(printed[index]!.trim(), pattern(prints), commands)
})

test('the page of settings is what --help says', async () => {
  const page = await readFile(join(root, 'docs/configuration.md'), 'utf8')
  const [, shown] = /^```text\n(.*?)^```$/ms.exec(page)!
  assert.equal(shown, `${helpText().replaceAll(homedir(), '~')}\n`)
})

test('no link between pages is broken', async () => {
  const pages = [
    ...['README.md', 'DESIGN.md', 'CONTRIBUTING.md', 'CHANGELOG.md'],
    ...(await readdir(join(root, 'docs'))).filter(name => name.endsWith('.md')).map(name => `docs/${name}`),
  ]
  const broken: string[] = []
  for (const page of pages) {
    const text = await readFile(join(root, page), 'utf8')
    for (const [, target] of text.matchAll(/\]\((?!https?:|#)([^)#\s]+)[^)]*\)/g)) {
      const there = await stat(join(root, dirname(page), target!)).catch(() => undefined)
      if (!there) broken.push(`${page}: ${target}`)
    }
  }
  assert.deepEqual(broken, [])
})
