import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { helpOf } from '../../src/cli/help.ts'
import { commands } from '../../src/cli/index.ts'
import { columns } from '../../src/cli/text.ts'
import { didYouMean } from '../../src/lib/usage.ts'
import { cli } from '../support/cli.ts'
import { findProgram } from '../support/command.ts'
import { tempFolder } from '../support/server.ts'

const names = Object.keys(commands)

describe('help', () => {
  test('gantry --help lists every command, with examples', async () => {
    const { code, stdout, stderr } = await cli(['--help'])
    assert.equal(code, 0)
    assert.equal(stderr, '')
    for (const name of names) assert.match(stdout, new RegExp(`^  ${name} +${commands[name]!.summary}$`, 'm'))
    assert.match(stdout, /Examples:/)
  })

  test('gantry help is the same, and gantry help COMMAND that of the command', async () => {
    assert.deepEqual(await cli(['help']), await cli(['--help']))
    assert.deepEqual(await cli(['help', 'run']), await cli(['run', '--help']))
    assert.equal((await cli(['help', 'rnu'])).code, 2)
  })

  test('each command says its options, its words and examples', async () => {
    for (const name of names.filter(one => one !== 'serve')) {
      const command = commands[name]!
      const stdout = await helpOf(name, command)
      for (const option of Object.keys(await command.options()))
        assert.match(stdout, new RegExp(`^  --${option}\\b`, 'm'))
      for (const word of command.words) assert.ok(stdout.includes(word.name))
      for (const example of command.examples) assert.ok(stdout.includes(example))
      assert.ok(
        stdout.split('\n').every(line => line.length <= 110),
        name,
      )
    }
  })

  test('gantry run --help says what the exit codes mean', async () => {
    const { code: ended, stdout } = await cli(['run', '-h'])
    assert.equal(ended, 0)
    const text = stdout.replace(/\s+/g, ' ')
    for (const code of ['0 it finished', '3 the agent is stuck', '4 it needs an answer', '5 the budget', '130 it was'])
      assert.ok(text.includes(code), code)
  })
})

describe('a wrong command line is one line and the code 2', () => {
  const wrong: Record<string, { args: string[]; says: RegExp }> = {
    'an unknown command, with the one that was meant': { args: ['rnu'], says: /"rnu"; did you mean run\?/ },
    'an unknown command that is like none': { args: ['frobnicate'], says: /"frobnicate" \(/ },
    'a name that every object has': { args: ['constructor'], says: /"constructor"/ },
    'an unknown option, with the one that was meant': {
      args: ['ls', '--jsno'],
      says: /--jsno'; did you mean --json\?/,
    },
    'an unknown option of the server': { args: ['--prot', '1'], says: /--prot'; did you mean --port\?/ },
    'a word that is missing': { args: ['show'], says: /ID is missing \(see gantry show --help\)/ },
    'a word too many': { args: ['ls', 'all'], says: /"all" is a word too many/ },
    'a choice that is none': { args: ['run', 'x', '--confirm', 'maybe'], says: /always, risky, never \(got "maybe"\)/ },
    'an option without its value': { args: ['run', 'x', '--model'], says: /--model/ },
    'an empty value': { args: ['run', 'x', '--model='], says: /--model is empty/ },
    'a budget that is no number': {
      args: ['run', 'x', '--budget', 'much', '--server', 'http://127.0.0.1:9'],
      says: /--budget/,
    },
    'half a step': { args: ['run', 'x', '--max-steps', '1.5', '--server', 'http://127.0.0.1:9'], says: /--max-steps/ },
    'no task': { args: ['run'], says: /TASK is missing/ },
    'an address that is none': { args: ['ls', '--server', 'localhost:1'], says: /no address/ },
    'a key file that is not there': {
      args: ['ls', '--server', 'http://x', '--key-file', '/nonexistent/k'],
      says: /nonexistent/,
    },
    'a place for a conversation that has one': {
      args: ['run', '--resume', 'abc', '--workspace', '/x'],
      says: /--resume/,
    },
    'a shell that is none': { args: ['completion', 'tcsh'], says: /bash, zsh, fish/ },
  }
  for (const [name, { args, says }] of Object.entries(wrong))
    test(name, async () => {
      const { code, stdout, stderr } = await cli(args)
      assert.equal(stdout, '')
      assert.match(stderr, /^gantry: [^\n]+\n$/)
      assert.match(stderr, says)
      assert.equal(code, 2)
    })

  test('what was meant is found by letters swapped, missing, added or changed, and by the beginning', () => {
    const known = ['serve', 'export', 'completion']
    for (const word of ['sevre', 'srve', 'sserve', 'sarve', 'SERVE'])
      assert.match(didYouMean(word, known), /did you mean serve\?/, word)
    assert.match(didYouMean('comp', known), /completion/)
    for (const word of ['s', 'xyz', 'import'])
      assert.doesNotMatch(didYouMean(word, ['export-all', 'qqq']), /mean/, word)
  })
})

describe('completion', () => {
  let folder: string
  before(async () => {
    folder = await tempFolder()
  })
  after(() => rm(folder, { recursive: true, force: true }))

  /** What bash offers at the end of a line. */
  function offered(script: string, line: string): string[] {
    const words = line.split(' ')
    const lines = [
      `source ${script}`,
      `COMP_WORDS=(${words.map(word => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}`,
      '_gantry',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is bash that reads it
      'printf "%s\\n" "${COMPREPLY[@]}"',
    ]
    return execFileSync('bash', ['-c', lines.join('\n')], { encoding: 'utf8' })
      .split('\n')
      .filter(Boolean)
  }

  test('bash completes commands, options and choices', { skip: !findProgram('bash') && 'no bash' }, async () => {
    const script = join(folder, 'gantry.bash')
    await writeFile(script, (await cli(['completion', 'bash'])).stdout)
    assert.deepEqual(offered(script, 'gantry ').sort(), [...names].sort())
    assert.deepEqual(offered(script, 'gantry ex'), ['export'])
    assert.deepEqual(offered(script, 'gantry run --conf').sort(), ['--config', '--confirm'])
    assert.deepEqual(offered(script, 'gantry run --confirm '), ['always', 'risky', 'never'])
    assert.deepEqual(offered(script, 'gantry completion f'), ['fish'])
    assert.deepEqual(offered(script, 'gantry import '), [], 'the shell offers files')
    assert.deepEqual(offered(script, 'gantry completion ').sort(), ['bash', 'fish', 'zsh'])
    assert.deepEqual(offered(script, 'gantry --he'), ['--help'])
    assert.deepEqual(offered(script, 'gantry serve --po').sort(), ['--port', '--ports-domain'])
    assert.deepEqual(offered(script, 'gantry --po').sort(), ['--port', '--ports-domain'])
  })

  for (const shell of ['zsh', 'fish'])
    test(`${shell} is told of every command and option, in a script that it can read`, async t => {
      const { stdout } = await cli(['completion', shell])
      for (const name of names) {
        assert.match(stdout, new RegExp(`\\b${name}\\b`))
        for (const option of Object.keys(await commands[name]!.options()))
          assert.ok(stdout.includes(shell === 'fish' ? `-l ${option}` : `--${option}[`), option)
      }
      if (!findProgram(shell)) return t.diagnostic(`no ${shell} here to read it`)
      const script = join(folder, `gantry.${shell}`)
      await writeFile(script, stdout)
      execFileSync(shell, ['-n', script])
    })
})

describe('a table', () => {
  const rows = [
    ['a', 'finished', 'short'],
    ['bcd', 'idle', 'a title of very many words'],
  ]

  test('has its columns under each other, and the last one fits what is left of a terminal', () => {
    assert.deepEqual(columns(rows), ['a    finished  short', 'bcd  idle      a title of very many words'])
    assert.deepEqual(columns(rows, 27), ['a    finished  short', 'bcd  idle      a title of …'])
    assert.deepEqual(columns(rows, 5), ['a    finished  short', 'bcd  idle      a title o…'])
  })
})
