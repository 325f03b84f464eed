import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { dirname, join, posix, relative, sep } from 'node:path'
import { describe, test } from 'node:test'
import { parseSync, Visitor } from 'rolldown/utils'

const root = join(import.meta.dirname, '../..')

interface Place {
  path: string
  line: number
}
interface Import extends Place {
  specifier: string
  /** From the project's root, when it is a file of ours. */
  target: string | undefined
  names: string[]
}
interface Source {
  path: string
  text: string
  imports: Import[]
  /** Names, members of names (`process.env`) and properties with a literal value (`shell: true`). */
  uses: (Place & { what: string })[]
}

async function filesOf(...patterns: string[]): Promise<string[]> {
  const exclude = ['**/node_modules/**', 'dist/**', '.cache/**', '.git/**']
  const found = await Array.fromAsync(glob(patterns, { cwd: root, exclude, withFileTypes: true }))
  return found
    .filter(entry => entry.isFile())
    .map(entry => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort()
}

async function parse(path: string): Promise<Source> {
  const text = await readFile(join(root, path), 'utf8')
  const { program, errors } = parseSync(path, text)
  assert.deepEqual(errors, [], `${path} cannot be parsed`)
  const source: Source = { path, text, imports: [], uses: [] }
  const place = (node: { start: number }) => ({ path, line: text.slice(0, node.start).split('\n').length })
  const use = (node: { start: number }, what: string) => source.uses.push({ ...place(node), what })
  const importing = (node: { start: number }, specifier: unknown, names: string[] = []) => {
    if (typeof specifier !== 'string') return
    const target = specifier.startsWith('.') ? posix.join(dirname(path), specifier) : undefined
    source.imports.push({ ...place(node), specifier, target, names })
  }
  new Visitor({
    ImportDeclaration(node) {
      const names = node.specifiers.map(specifier =>
        specifier.type === 'ImportSpecifier' && specifier.imported.type === 'Identifier'
          ? specifier.imported.name
          : '*',
      )
      importing(node, node.source.value, names)
    },
    ExportAllDeclaration: node => importing(node, node.source.value, ['*']),
    ExportNamedDeclaration: node => importing(node, node.source?.value, ['*']),
    ImportExpression: node => importing(node, node.source.type === 'Literal' ? node.source.value : undefined, ['*']),
    TSImportType: node => importing(node, node.source.value, ['*']),
    Identifier: node => use(node, node.name),
    MemberExpression(node) {
      if (node.object.type === 'Identifier' && node.property.type === 'Identifier') {
        use(node, `${node.object.name}.${node.property.name}`)
      }
    },
    Property(node) {
      if (node.key.type === 'Identifier' && node.value.type === 'Literal')
        use(node, `${node.key.name}: ${node.value.raw}`)
    },
  }).visit(program)
  return source
}

const src = await Promise.all((await filesOf('src/**/*.ts')).map(parse))
const web = await Promise.all((await filesOf('web/**/*.{ts,tsx}')).map(parse))

const isIn = (...folders: string[]) => {
  const prefixes = folders.map(folder => (folder.startsWith('web') ? folder : `src/${folder}`))
  return (path: string | undefined) => prefixes.some(prefix => path === prefix || path?.startsWith(`${prefix}/`))
}
const at = ({ path, line }: Place) => `${path}:${line}`

function neverImports(sources: Source[], forbidden: (target: Import, importer: string) => boolean): void {
  const breaches = sources.flatMap(source => source.imports.filter(one => forbidden(one, source.path)))
  assert.deepEqual(
    breaches.map(one => `${at(one)} imports ${one.specifier}`),
    [],
  )
}

function neverUses(sources: Source[], ...forbidden: string[]): void {
  const breaches = sources.flatMap(source => source.uses.filter(({ what }) => forbidden.includes(what)))
  assert.deepEqual(
    breaches.map(one => `${at(one)} uses ${one.what}`),
    [],
  )
}

function neverSays(sources: Pick<Source, 'path' | 'text'>[], forbidden: RegExp): void {
  const breaches = sources.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, index) => (forbidden.test(line) ? [`${path}:${index + 1} ${line.trim()}`] : [])),
  )
  assert.deepEqual(breaches, [])
}

const from = (...folders: string[]) => src.filter(source => isIn(...folders)(source.path))
const except = (...paths: string[]) => src.filter(source => !isIn(...paths)(source.path))

/** Where implementations are picked: of everything, of what sandboxes are made with, and of what agents think with. */
const WIRING = ['app.ts', 'hands.ts', 'brain.ts']

/** By port, the files that implement it. They may import each other. */
const adapters: { of: string; has: (path: string | undefined) => boolean }[] = [
  {
    of: 'store',
    has: path => isIn('store')(path) && !isIn('store/store.ts', 'store/webhook-port.ts', 'store/ownership.ts')(path),
  },
  { of: 'model', has: isIn('agent/models') },
  {
    of: 'sandbox',
    has: isIn('sandbox/local.ts', 'sandbox/local', 'sandbox/docker.ts', 'sandbox/docker', 'sandbox/process.ts'),
  },
]

describe('the direction of imports', () => {
  test('lib imports nothing of ours but lib', () => {
    neverImports(from('lib'), ({ target }) => target !== undefined && !isIn('lib')(target))
  })
  test('api imports nothing of ours but api and lib', () => {
    neverImports(from('api'), ({ target }) => target !== undefined && !isIn('api', 'lib')(target))
  })
  test('nothing but app.ts and http itself imports http', () => {
    neverImports(except('app.ts', 'http'), ({ target }) => isIn('http')(target))
  })
  test('nothing but main.ts imports the wiring, and nothing but the launcher imports main.ts', () => {
    neverImports(except('main.ts', 'server.ts', 'app.ts'), ({ target }) => isIn(...WIRING)(target))
    neverImports(except('launch.ts', 'server.ts'), ({ target }) => isIn('main.ts')(target))
  })
  test('git-providers imports nothing of ours but api and lib', () => {
    neverImports(
      from('git-providers'),
      ({ target }) => target !== undefined && !isIn('git-providers', 'api', 'lib')(target),
    )
  })
  test('gateway is one more way in: nothing but the wiring and http imports it', () => {
    neverImports(except(...WIRING, 'http', 'gateway'), ({ target }) => isIn('gateway')(target))
  })
  test('policy and agent do not import each other', () => {
    neverImports(from('policy'), ({ target }) => isIn('agent')(target))
    neverImports(from('agent'), ({ target }) => isIn('policy')(target))
  })
  for (const adapter of adapters) {
    test(`nothing but the wiring imports an adapter of the ${adapter.of} port`, () => {
      neverImports(except(...WIRING), ({ target }, importer) => adapter.has(target) && !adapter.has(importer))
    })
  }
  test('web imports nothing of ours but web, the client, api and lib, and nothing of Node', () => {
    neverImports(web, ({ specifier, target }) =>
      target === undefined
        ? specifier.startsWith('node:')
        : !isIn('web', 'api', 'lib')(target) && target !== 'client/index.ts',
    )
  })
})

describe('what a file may touch', () => {
  test('nothing but main.ts and its launcher reads the environment or the arguments, or ends the process', () => {
    const others = except('main.ts', 'launch.ts')
    neverUses(others, 'process.env', 'process.argv', 'process.exit', 'process.exitCode')
    neverImports(others, ({ specifier }) => /^(node:)?process$/.test(specifier))
  })
  test('api is safe in a browser: no node: import, no Buffer, no process', () => {
    neverImports(from('api'), ({ specifier }) => specifier.startsWith('node:'))
    neverUses(from('api'), 'Buffer', 'process')
  })
  test('no command line is given to a shell', () => {
    neverUses(src, 'shell: true')
    neverImports(
      src,
      ({ specifier, names }) =>
        /^(node:)?child_process$/.test(specifier) && names.some(name => ['exec', 'execSync', '*'].includes(name)),
    )
  })
  test('web makes elements, never markup: but for purified markdown and highlighted code', () => {
    const purified = ['web/ui/markdown.tsx', 'web/ui/code.tsx']
    const others = web.filter(({ path }) => !purified.includes(path))
    neverSays(others, /dangerouslySetInnerHTML/)
    neverUses(
      others,
      'innerHTML',
      'outerHTML',
      'insertAdjacentHTML',
      'setHTMLUnsafe',
      'document.write',
      'eval',
      'Function',
    )
  })
})

describe('how a file reads', () => {
  test('no file of src or web needs 400 lines', async () => {
    const paths = await filesOf('src/**/*', 'web/**/*')
    const texts = await Promise.all(paths.map(path => readFile(join(root, path), 'utf8')))
    const lengths = paths.map((path, index) => ({ path, line: texts[index]!.split('\n').length }))
    assert.deepEqual(lengths.filter(({ line }) => line > 400).map(at), [])
  })
  test('no work is left as a note in src or web', () => neverSays([...src, ...web], /TODO|FIXME/))
  test('no file points outside the project', async () => {
    const outside = ['..', 'shared'].join('/')
    const paths = await filesOf('**/*', '.ci/*')
    const texts = await Promise.all(paths.map(async path => ({ path, text: await readFile(join(root, path), 'utf8') })))
    neverSays(texts, new RegExp(RegExp.escape(outside)))
  })
})
