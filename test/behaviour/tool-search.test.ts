import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { makeGlob } from '../../src/agent/tools/glob.ts'
import { globPattern } from '../../src/agent/tools/glob-pattern.ts'
import { makeGrep } from '../../src/agent/tools/grep.ts'
import { extended } from '../../src/agent/tools/regex.ts'
import type { Command } from '../../src/sandbox/sandbox.ts'
import { NO_WALLS } from '../support/hands.ts'
import { Random } from '../support/random.ts'
import { count } from '../support/server.ts'
import { type Desk, ToolBench, textOf } from '../support/tool-bench.ts'

let bench: ToolBench
let busybox = false
before(async () => {
  if (NO_WALLS) return
  bench = await ToolBench.open()
  busybox = `${await bench.sh('test -x /usr/bin/busybox && echo yes || echo no')}`.trim() === 'yes'
})
after(async () => {
  await bench?.[Symbol.asyncDispose]()
})

const suite = { skip: NO_WALLS }
const below = (desk: Desk, paths: string[]) => paths.map(path => path.slice(desk.folder.length + 1))
const glob = async (desk: Desk, pattern: string, path?: string) =>
  desk.call(makeGlob(), { pattern, ...(path !== undefined && { path }) }, 'GlobObservation')
const grep = async (desk: Desk, pattern: string, more: object = {}) =>
  desk.call(makeGrep(), { pattern, ...more }, 'GrepObservation')

/** The same place, where every tool is busybox's. */
async function spartan(): Promise<Desk> {
  const desk = await bench.desk({
    sandbox: async () => ({
      ...bench.sandbox,
      exec: ({ argv, ...rest }: Command) => {
        const [program, ...words] = argv
        const inner = program === '/bin/sh' ? ['/usr/bin/busybox', 'sh', ...words] : [program, ...words]
        return bench.sandbox.exec({
          ...rest,
          argv: inner as [string, ...string[]],
          env: { ...rest.env, PATH: '/workspace/bb' },
        })
      },
    }),
  })
  await bench.sh('mkdir -p bb && for tool in $(/usr/bin/busybox --list); do ln -sf /usr/bin/busybox "bb/$tool"; done')
  return desk
}

for (const kind of ['GNU', 'busybox'] as const) {
  describe(`glob and grep with the tools of ${kind}`, suite, () => {
    const desk = async (context: { skip(why: string): void }) => {
      if (kind === 'GNU') return bench.desk()
      if (busybox) return spartan()
      context.skip('there is no busybox inside')
      return undefined
    }

    test('files are found by name, the latest changed first', async t => {
      const at = await desk(t)
      if (!at) return
      const names = ['a.ts', 'src/b.ts', 'src/deep/c.tsx', '.hidden/d.ts', 'new\nline.ts', '-e.ts', "q'.ts", 'ü.ts']
      for (const name of [...names, '.git/x.ts', 'node_modules/p/y.ts', 'other.js']) await at.put(name, '')
      await at.sh(
        'n=10; for f in ./a.ts ./src/b.ts ./src/deep/c.tsx; do touch -d "2020-01-01 00:00:$n" "$f"; n=$((n + 1)); done; ln -s loop loop',
      )
      const all = below(at, (await glob(at, '**/*.{ts,tsx}')).files)
      assert.deepEqual(all.slice(-3), ['src/deep/c.tsx', 'src/b.ts', 'a.ts'])
      assert.deepEqual(all.toSorted(), names.toSorted())
      assert.deepEqual(below(at, (await glob(at, 'src/**/*.ts*')).files), ['src/deep/c.tsx', 'src/b.ts'])
      assert.deepEqual(below(at, (await glob(at, `${at.folder}/src/?.ts`)).files), ['src/b.ts'])
      assert.deepEqual(below(at, (await glob(at, '*.ts', 'src')).files), ['src/b.ts'])
      assert.deepEqual(below(at, (await glob(at, 'node_modules/**')).files), ['node_modules/p/y.ts'])
      const none = await glob(at, '*.nope')
      assert.deepEqual([none.is_error, none.files], [false, []])
      assert.match(textOf(none), /\*\*\/\*\.nope/)
      for (const path of ['none', 'a.ts']) assert.ok((await glob(at, '*', path)).is_error, path)
    })

    test('files are found by what they contain, the latest changed first', async t => {
      const at = await desk(t)
      if (!at) return
      const names = ['a.ts', 'src/b.ts', 'new\nline', '-v', "q'", 'latin', '.hidden']
      for (const name of names)
        await at.put(name, name === 'latin' ? Buffer.from('caf\xe9 call(12)\n', 'latin1') : 'x\ncall(12)\n')
      await at.put('binary', 'call(12)\n\0\n')
      for (const name of ['.git/config', 'node_modules/p/y.ts']) await at.put(name, 'call(12)\n')
      await at.sh(
        'mkfifo pipe; echo "call(12)" > closed; chmod 0 closed; touch -d "2020-01-01 00:00:00" a.ts; touch -d "2021-01-01 00:00:00" src/b.ts',
      )
      const all = below(at, (await grep(at, String.raw`call\(\d+\)`)).matches)
      assert.deepEqual(all.slice(-2), ['src/b.ts', 'a.ts'])
      assert.deepEqual(all.toSorted(), names.toSorted())
      assert.deepEqual(below(at, (await grep(at, 'call', { include: '*.ts' })).matches), ['src/b.ts', 'a.ts'])
      assert.deepEqual(below(at, (await grep(at, 'call', { include: 'src/**' })).matches), ['src/b.ts'])
      assert.deepEqual(below(at, (await grep(at, '(?i)CALL', { path: 'src' })).matches), ['src/b.ts'])
      assert.deepEqual(below(at, (await grep(at, 'call', { path: 'a.ts' })).matches), ['a.ts'])
      assert.deepEqual((await grep(at, 'CALL')).matches, [])
      assert.deepEqual((await grep(at, 'call', { include: '*.none' })).matches, [])
    })

    test('what is no regular expression is told, and so is a wrong place', async t => {
      const at = await desk(t)
      if (!at) return
      await at.put('a', 'x\n')
      for (const pattern of ['(', 'a)(', '[z', '(?=x)', String.raw`\p{L}`, 'x\ny', '\\', 'a{2,1}']) {
        const refused = await grep(at, pattern)
        assert.ok(refused.is_error, pattern)
        assert.match(textOf(refused), /pattern/)
      }
      assert.ok((await grep(at, 'x', { path: 'none' })).is_error)
      assert.equal((await grep(at, '-x')).is_error, false)
    })
  })
}

describe('bounds of searches', suite, () => {
  test('many results are cut, and the answer says so', async () => {
    const desk = await bench.desk()
    await desk.sh('long=$(printf %0200d 0); for i in $(seq 600); do echo x > "$long$i"; done')
    const found = await glob(desk, '*')
    const matched = await grep(desk, 'x')
    for (const { truncated, content, shown } of [
      { ...found, shown: found.files },
      { ...matched, shown: matched.matches },
    ]) {
      assert.ok(truncated && shown.length > 50 && shown.length <= 200)
      assert.match(JSON.stringify(content), /of 600/)
    }
  })

  test('an aborted search ends at once', async () => {
    const abort = new AbortController()
    const desk = await bench.desk({ signal: abort.signal })
    // Without an end for a matcher that backtracks.
    await desk.put('a', `${'a'.repeat(5000)}b\n`.repeat(200))
    const reason = new Error('enough')
    const searching = grep(desk, String.raw`(a*)*(a*)*\1\2c`)
    setImmediate(() => abort.abort(reason))
    await assert.rejects(searching, error => error === reason)
  })
})

describe('patterns', () => {
  test('a glob matches what it says', () => {
    const cases: [string, string[], string[]][] = [
      ['*', ['a', '.b', 'ü🙂'], ['a/b']],
      ['**', ['a', 'a/b/c'], []],
      ['**/*.ts', ['a.ts', 'x/a.ts', 'x/y/.ts'], ['a.tsx', 'a.ts/b']],
      ['a/**/b', ['a/b', 'a/x/b', 'a/x/y/b'], ['ab', 'a/bb', 'x/a/b']],
      ['a?c', ['abc', 'a🙂c'], ['ac', 'a/c']],
      ['[a-c]x', ['ax', 'cx'], ['dx', '-x']],
      ['[!a-c]x', ['dx'], ['ax', 'x']],
      ['[]]', [']'], ['a']],
      ['[', ['['], ['a']],
      ['{a,b{c,d}}.x', ['a.x', 'bc.x', 'bd.x'], ['b.x', 'c.x']],
      ['{a}', ['{a}'], ['a']],
      ['\\*', ['*'], ['a']],
      ['a**b', ['ab', 'axxb'], ['a/b']],
      ['(x|y)+', ['(x|y)+'], ['xy']],
    ]
    for (const [pattern, yes, no] of cases) {
      const matches = globPattern(pattern)!
      for (const path of yes) assert.ok(matches(path), `${pattern} matches ${path}`)
      for (const path of no) assert.ok(!matches(path), `${pattern} does not match ${path}`)
    }
  })

  test('a hostile glob costs little, or is refused', () => {
    const begun = performance.now()
    assert.equal(globPattern('{a,b}'.repeat(30)), undefined)
    assert.equal(globPattern('x'.repeat(5000)), undefined)
    assert.equal(globPattern(`${'*a'.repeat(100)}b`)!('a'.repeat(255)), false)
    assert.equal(globPattern(`${'**/a/'.repeat(50)}b`)!('a/'.repeat(500)), false)
    assert.ok(performance.now() - begun < 1_000)
  })

  test('a pattern in the words of grep -E matches the lines that JavaScript says', { skip: NO_WALLS }, async () => {
    const random = new Random()
    const atoms = [
      'a',
      'b',
      '.',
      '\\d',
      '\\w',
      '\\s',
      '\\S',
      '\\W',
      '[ab]',
      '[^a\\d]',
      '[\\w-]',
      '[\\]x]',
      '[-.]',
      '\\.',
      '\\/',
      '(?:a|b)',
      '(ab)',
      '\\$',
      '[\\s\\S]',
      '\\{',
      '"',
      '-',
      '[a-c^]',
      '[^\\n]',
      '[\\^]',
    ]
    const lines = Array.from({ length: 200 }, () =>
      Array.from({ length: random.int(6) }, () => random.pick([...'ab1 ._-/$]^{"\tx'])).join(''),
    )
    const patterns = Array.from({ length: count({ sample: 60, deep: 3000 }) }, () => {
      const body = Array.from(
        { length: random.int(3) + 1 },
        () => random.pick(atoms) + random.pick(['', '', '*', '+?', '?', '{1,2}', '{2}?']),
      ).join('')
      return random.pick(['', '^']) + body + random.pick(['', '$'])
    })
    const words = patterns.map(pattern => {
      const made = extended(pattern)
      assert.ok('pattern' in made, pattern)
      return made.pattern
    })
    const script = 'cat > /tmp/lines; shift; for p; do grep -E -c -e "$p" /tmp/lines; done; true'
    const quoted = ['x', ...words].map(word => `'${word.replaceAll("'", `'\\''`)}'`).join(' ')
    const counted =
      `${await bench.sh(`set -- ${quoted}; export LC_ALL=C; ${script}`, lines.map(line => `${line}\n`).join(''))}`
        .trim()
        .split('\n')
    patterns.forEach((pattern, index) => {
      const expected = lines.filter(line => new RegExp(pattern).test(line)).length
      assert.equal(Number(counted[index]), expected, `seed ${random.seed}: ${pattern} as ${words[index]}`)
    })
  })
})
