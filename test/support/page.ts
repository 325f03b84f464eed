import { mkdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { watchedPage } from './browser.ts'
import { Random } from './random.ts'
import { DEEP, type TestServer } from './server.ts'

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

/** Where pictures go: `docs/images` when they are taken for the docs, nowhere otherwise. */
const PICTURES = process.env.GANTRY_TEST_PICTURES

export const PHONE: BrowserContextOptions = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }
export const LAPTOP: BrowserContextOptions = { viewport: { width: 1280, height: 800 } }

/** The ways a view is looked at: one of them, others by another seed; all of them in the deep tier. */
export const looks = <T>(...all: T[]): T[] => (DEEP ? all : [new Random().pick(all)])

export interface OpenPage {
  page: Page
  /** Everything it asked for. */
  requested: string[]
  /** What it complained of in its console; a test that expects none says so. */
  complaints: string[]
  close(): Promise<void>
}

/** The page of this server, signed in, at a place such as `/c/ID`. */
export async function openPage(
  browser: Browser,
  server: Pick<TestServer, 'url' | 'key'>,
  place = '/',
  options: BrowserContextOptions = LAPTOP,
): Promise<OpenPage> {
  const context = await browser.newContext({ bypassCSP: false, ...options })
  const watched = await watchedPage(context)
  const response = await context.request.post(`${server.url}/api/auth/sign-in`, { data: { key: server.key } })
  if (!response.ok()) throw new Error(`Signing in: ${response.status()}`)
  await watched.page.goto(`${server.url}/#${place}`)
  return { ...watched, close: () => context.close() }
}

/** What an accessibility checker finds against WCAG A and AA, one line each. */
export async function violations(page: Page): Promise<string[]> {
  // Through the debugging protocol: the page's own policy forbids scripts that are not its own.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(await readFile(AXE, 'utf8'))
  const found = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run(context: unknown, options: unknown): Promise<AxeResults> } }
    const { violations } = await axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] })
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(node => node.html).join(' | ')}`)
  })
  return found
}

interface AxeResults {
  violations: { id: string; nodes: { html: string }[] }[]
}

/** A picture for the docs, when they are being made. */
export async function picture(page: Page, name: string): Promise<void> {
  if (!PICTURES) return
  await mkdir(PICTURES, { recursive: true })
  await page.screenshot({ path: join(PICTURES, `${name}.png`) })
}
