import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { AgentRig, type Talk } from './agent.ts'
import { startBrowser } from './browser.ts'
import { stdio } from './mcp-stdio.ts'
import { call, finish, type Script } from './model-server.ts'
import { LAPTOP, type OpenPage, openPage } from './page.ts'

export const CLIPBOARD: BrowserContextOptions = { permissions: ['clipboard-read', 'clipboard-write'] }
const PICTURE =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const TOTAL = 'export function total(items) {\n  let sum = 0\n  return sum\n}\n'

/** Agents that follow scripts, and a browser that looks at what they do. */
export class Onlooker implements AsyncDisposable {
  readonly rig: AgentRig
  readonly #browser: Browser
  readonly #opened: OpenPage[] = []

  static async start(): Promise<Onlooker> {
    const [rig, browser] = await Promise.all([AgentRig.start(), startBrowser()])
    return new Onlooker(rig, browser)
  }

  private constructor(rig: AgentRig, browser: Browser) {
    this.rig = rig
    this.#browser = browser
  }

  async look(talk: Talk, query = '', options: BrowserContextOptions = {}): Promise<Page> {
    const one = await openPage(this.#browser, this.rig.server, `/c/${talk.id}${query}`, { ...LAPTOP, ...options })
    this.#opened.push(one)
    return one.page
  }

  /** Of all pages. */
  get complaints(): string[] {
    return this.#opened.flatMap(({ complaints }) => complaints)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close()
    await this.rig[Symbol.asyncDispose]()
  }
}

export const log = (page: Page) => page.getByRole('log', { name: 'Timeline' })

/** Of an action, by the words of its line. */
export const card = (page: Page, name: string | RegExp) =>
  log(page)
    .locator('.card')
    .filter({ has: page.getByRole('button', { name }) })

export const clipboard = (page: Page): Promise<string> => page.evaluate(() => navigator.clipboard.readText())

export const scrollToTop = (page: Page): Promise<void> =>
  log(page).evaluate(element => {
    element.scrollTop = 0
  })

/** Everything an agent does in a day. */
export async function aDay(rig: AgentRig): Promise<Talk> {
  const path = '/workspace/day/total.js'
  const tasks = [
    { title: 'Find the fault', status: 'done' },
    { title: 'Mend it', status: 'in_progress', notes: 'in total.js' },
  ]
  const parent = [
    call('task_tracker', { command: 'plan', task_list: tasks }, { text: 'First a plan.', reasoning: 'Well now.' }),
    call('file_editor', { command: 'create', path, file_text: TOTAL }),
    call('file_editor', { command: 'view', path }),
    call('file_editor', { command: 'str_replace', path, old_str: 'let sum = 0', new_str: 'let sum = 1' }),
    call('terminal', { command: 'echo first; seq 100 140; (exit 3)' }),
    call('terminal', { command: 'echo "<script>document.title = 1</script><img src=x onerror=alert(1)>"' }),
    call('think', { thought: 'It is the *rounding*.' }),
    call('echo', { text: 'over \u001b[31mthere\u001b[0m' }),
    call('no_such_tool', { weight: 12 }),
    call('task', { prompt: 'CHILD look', description: 'Look elsewhere' }),
    finish('All **done**.'),
  ]
  let turn = 0
  const script: Script = ({ messages, body }) => {
    if (JSON.stringify(messages[1]).includes('CHILD')) return finish('Nothing found there.')
    const isLate = parent[turn]?.calls?.[0]?.name === 'echo' && !JSON.stringify(body.tools).includes('"echo"')
    return isLate ? call('think', { thought: 'Its server is still starting.' }) : parent[turn++]!
  }
  const talk = await rig.begin({
    say: 'Mend it. <img src=x onerror="alert(1)"> [click](javascript:alert(1)) <script>alert(1)</script>',
    agent: {
      tools: ['terminal', 'file_editor', 'task_tracker', 'task_tool_set'].map(name => ({ name })),
      mcp_config: { good: stdio('good') },
    },
    workspace: { working_dir: '/workspace/day' },
    script,
  })
  await talk.comesTo('finished')
  await talk.post('events', {
    content: [
      { type: 'text', text: 'Like this' },
      { type: 'image', image_urls: [PICTURE, 'https://example.com/a.png'] },
    ],
  })
  return talk
}
