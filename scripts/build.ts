import { chmod, glob, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { gzipSync } from 'node:zlib'
import { type BuildOptions, build } from 'rolldown'
import { shapes } from '../src/api/shapes.ts'

type Files = (readonly [path: string, content: string | Uint8Array])[]

const root = join(import.meta.dirname, '..')
const dist = join(root, 'dist')

/** A caller needs the shapes of routes, not the schemas they are made from. */
const onlyShapes = {
  name: 'shapes',
  load: {
    filter: { id: /\/src\/api\/shapes\.ts$/ },
    handler: () => `export const shapes = ${JSON.stringify(shapes)}`,
  },
}

const server: BuildOptions = {
  platform: 'node',
  // Native speed-ups of ws: it does without, and would else look for them in every folder above, at each start.
  transform: { define: { 'process.env.WS_NO_BUFFER_UTIL': 'true', 'process.env.WS_NO_UTF_8_VALIDATE': 'true' } },
  plugins: [
    onlyShapes,
    {
      name: 'workers',
      // In source a worker lies beside the file that starts it; built, it is a bundle of its own beside gantry.js.
      transform: {
        filter: { id: /\/src\/.*\.ts$/, code: 'import.meta.url' },
        handler: code => code.replace(/(new URL\(\s*'\.\/[\w-]+)\.ts(',\s*import\.meta\.url\s*\))/g, '$1.js$2'),
      },
    },
  ],
}

const client: BuildOptions = { platform: 'browser', plugins: [onlyShapes] }

async function bundle(to: string, entry: string, target: BuildOptions, banner?: string): Promise<Files> {
  const name = basename(to, '.js')
  const { output } = await build({
    ...target,
    cwd: root,
    input: { [name]: entry },
    write: false,
    onLog: (level, log) => {
      if (level === 'warn') throw new Error(log.message)
    },
    output: { format: 'esm', minify: true, banner: chunk => (chunk.isEntry && banner) || '' },
  })
  return output.map(file => [join(dirname(to), file.fileName), file.type === 'chunk' ? file.code : file.source])
}

async function copies(pattern: string): Promise<Files> {
  const paths = await Array.fromAsync(glob(pattern, { cwd: root }))
  return Promise.all(paths.map(async path => [join('web', basename(path)), await readFile(join(root, path))] as const))
}

/** One sheet of many, in the order of the patterns and, within one, of the names; those of the docs page are its own. */
async function styles(to: string, ...patterns: string[]): Promise<Files> {
  const found = await Promise.all(patterns.map(pattern => Array.fromAsync(glob(pattern, { cwd: root }))))
  const paths = [...new Set(found.flatMap(paths => paths.sort()))]
  const wanted = paths.filter(path => to === 'web/docs.css' || !path.startsWith('web/docs/'))
  const sheets = await Promise.all(wanted.map(path => readFile(join(root, path), 'utf8')))
  return [[to, sheets.join('\n')]]
}

/** For the way over a network; made once here instead of at every request. */
const compressed = ([path, content]: Files[number]) => [`${path}.gz`, gzipSync(content, { level: 9 })] as const

/** Leaves what is already right untouched, so that a server running from `dist` is not pulled from under its feet. */
async function put([path, content]: Files[number]): Promise<void> {
  const file = join(dist, path)
  const wanted = Buffer.from(content)
  if (wanted.equals(await readFile(file).catch(() => Buffer.alloc(0)))) return
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, wanted)
}

/** Whatever an earlier build left; the compile cache of the server that runs from here stays. */
async function removeOthers(files: Files): Promise<void> {
  const wanted = new Set(files.map(([path]) => path))
  const found = await Array.fromAsync(glob('**/*.*', { cwd: dist, exclude: ['.cache/**', 'client/types/**'] }))
  await Promise.all(found.filter(path => !wanted.has(path)).map(path => rm(join(dist, path), { force: true })))
}

const parts = await Promise.allSettled([
  bundle('gantry.js', 'src/launch.ts', server, '#!/usr/bin/env node'),
  bundle('writer.js', 'src/store/writer.ts', server),
  bundle('doorman.js', 'src/sandbox/local/doorman.ts', server),
  bundle('client/index.js', 'client/index.ts', client),
  bundle('web/main.js', 'web/main.tsx', client),
  bundle('web/docs.js', 'web/docs/main.ts', client),
  copies('web/**/*.{html,svg}'),
  styles('web/page.css', 'web/style/*.css', 'web/*/*.css'),
  styles('web/docs.css', 'web/style/style.css', 'web/docs/*.css'),
  styles('web/terminal.css', 'node_modules/@xterm/xterm/css/xterm.css'),
])
const built = parts.flatMap(part => (part.status === 'fulfilled' ? part.value : []))
const files = [...built, ...built.filter(([path]) => path.startsWith('web/')).map(compressed)]
await Promise.all(files.map(put))

const failures = parts.filter(part => part.status === 'rejected')
if (failures.length === 0) await removeOthers(files)
for (const { reason } of failures) process.stderr.write(`${stripVTControlCharacters(String(reason))}\n`)
if (failures.length > 0) process.exitCode = 1
else {
  await chmod(join(dist, 'gantry.js'), 0o755)
  // `npx gantry` looks here first; asked before the first build, it would else remember for good that there is no such program.
  await symlink('../../dist/gantry.js', join(root, 'node_modules/.bin/gantry')).catch(error => {
    if (error.code !== 'EEXIST') throw error
  })
}
