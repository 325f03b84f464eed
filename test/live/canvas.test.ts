import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { NO_BROWSER, startBrowser } from '../support/browser.ts'
import { Canvas, fetchCanvas } from '../support/canvas.ts'
import { call, finish, ModelServer, say, type Turn } from '../support/model-server.ts'
import { DEEP, TestServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const MISSING = NO_BROWSER || (await fetchCanvas())

/** What a server of this interface need not have: apps, and the provider's balance. */
const ABSENT = /^404 GET \/api\/(?:canvas-extensions\/installed|llm\/balance)$/
/** Of what it fetches from elsewhere it says so, and its editor throws the event that told it. Our own refusals are counted apart. */
const NOISE = /^Failed to load resource|^Monaco initialization|^Event$/

/** The conversation that the page shows. */
const idOf = (page: Page): string => page.url().split('/').at(-1)!

/** A page takes its time: the rest is for the deep tier. */
const AT_LENGTH = { skip: !DEEP && 'in the deep tier' }

describe('the published web page, unmodified', { skip: MISSING }, () => {
  let model: ModelServer
  let server: TestServer
  let canvas: Canvas
  let browser: Browser
  let context: BrowserContext
  let page: Page
  let turns: Turn[] = []
  const refused: string[] = []
  const complaints: string[] = []

  before(async () => {
    model = await ModelServer.start(({ body }) => (body.tools?.length ? turns.shift()! : say('A short title')))
    server = await TestServer.start()
    canvas = await Canvas.start(server)
    const params = { name: 'scripted' }
    await server.client.saveProfile({ params, body: { llm: model.llm(), include_secrets: true } })
    await server.client.activateProfile({ params })
    browser = await startBrowser()
    context = await browser.newContext({ viewport: { width: 1700, height: 900 } })
    context.setDefaultTimeout(20_000)
    await context.addInitScript(() => localStorage.setItem('openhands-onboarded', '1'))
    // Fonts, icons, an editor: it copes without.
    await context.route(
      ({ origin }) => origin !== canvas.url,
      route => route.abort(),
    )
    page = await context.newPage()
    page.on('response', response => {
      const url = response.url().replace(canvas.url, '')
      if (response.status() >= 400) refused.push(`${response.status()} ${response.request().method()} ${url}`)
    })
    page.on('pageerror', error => complaints.push(error.message))
    page.on('console', message => {
      if (message.type() === 'error') complaints.push(message.text())
    })
    page.on('websocket', socket => {
      socket.on('socketerror', error => complaints.push(`${socket.url()}: ${error}`))
    })
  })
  after(async () => {
    await browser?.close()
    await canvas?.[Symbol.asyncDispose]()
    await server?.[Symbol.asyncDispose]()
    await model?.close()
  })
  beforeEach(() => {
    turns = []
  })

  const at = (id: string) => page.getByTestId(id)
  const reads = (text: string) => page.getByTestId('chat-interface').getByText(text).first().waitFor()
  async function ask(text: string, ...answers: Turn[]): Promise<void> {
    turns.push(...answers)
    await at('chat-input').click()
    await page.keyboard.type(text)
    await at('submit-button').click()
  }
  const conversation = () => server.client.getConversation({ params: { conversation_id: idOf(page) } })
  const isNow = (status: string) =>
    until(`the conversation is ${status}`, async () => (await conversation()).execution_status === status)

  test('starts without a word of complaint, and takes a preference', async () => {
    await page.goto(canvas.url)
    await at('confirm-telemetry-preferences').click()
    await page.getByText("Let's Start Building!").waitFor()
    assert.equal(await at('home-llm-not-configured-banner').count(), 0)
    await until('the preference is stored', async () => {
      const { misc_settings } = await server.client.getSettings({})
      return /"user_consents_to_analytics":(true|false)/.test(JSON.stringify(misc_settings))
    })
  })

  test('shows every page of its settings, and of what can be added', AT_LENGTH, async () => {
    const places = {
      'backend-selector-settings-link': {
        LLM: 'profile-row',
        Agent: 'agent-profile-row',
        Condenser: 'sdk-settings-condenser.enabled',
        'Agent Context': 'sdk-settings-agent_context.load_memory',
        Verification: 'sdk-settings-confirmation_mode',
        Application: 'title-llm-profile-input',
        Secrets: 'secrets-empty',
      },
      'sidebar-skills-link': {
        'MCP Servers': 'mcp-installed-empty',
        Skills: 'skills-page',
        Plugins: 'plugins-empty',
      },
    }
    for (const [place, screens] of Object.entries(places)) {
      await at(place).click()
      for (const [name, shown] of Object.entries(screens)) {
        await page
          .getByTestId(/^(settings|extensions)-navbar-desktop$/)
          .getByText(name, { exact: true })
          .click()
        await at(shown).first().waitFor({ state: 'attached' })
      }
    }
  })

  test('a conversation starts from the composer, and what the agent does is seen as it happens', async () => {
    await at('sidebar-conversations-link').click()
    await ask('Hello there', say('Ready for work.'))
    await page.waitForURL(/\/conversations\/[0-9a-f-]{36}$/)
    await reads('Ready for work.')
    await at('right-panel-toggle').click()
    await at('conversation-tab-terminal').click()
    const command = 'echo one two > notes.txt; echo live-$((40 + 2))'
    await ask('Write notes', call('terminal', { command }), finish('There are notes.'))
    await reads('There are notes.')
    await page.locator('.xterm-rows').getByText('live-42').waitFor()
    assert.equal(await page.locator('.xterm-rows').getByText('Exit code').count(), 0)
  })

  test('files and changes show what the agent wrote', AT_LENGTH, async () => {
    await at('conversation-tab-files').click()
    await at('files-tab-refresh').click()
    await at('file-tree-file-notes.txt').click()
    await at('files-tab-content').getByText('one two').waitFor()
    await at('conversation-tab-commits').click()
    await at('uncommitted-changes-row-toggle').click()
    const diff = page.waitForResponse(/\/api\/git\/diff\?/)
    await at('diff-change-list').getByText('notes.txt').click()
    assert.match(await (await diff).text(), /one two/)
  })

  test('what is condensed is not shown as if the agent had said it', AT_LENGTH, async () => {
    await at('conversation-tab-usage').click()
    await page.getByRole('button', { name: 'Compact context' }).click()
    await until('the summary is kept', async () => {
      const params = { conversation_id: idOf(page) }
      const { items } = await server.client.searchEvents({ params, query: { sort_order: 'TIMESTAMP_DESC' } })
      return items.some(({ kind }) => kind === 'Condensation')
    })
    await ask('Go on', say('So it goes on.'))
    await reads('So it goes on.')
    assert.equal(await at('chat-interface').getByText('A short title').count(), 0)
  })

  test('an answer is read while it is being said, and can be stopped', AT_LENGTH, async () => {
    await ask('Talk to me', say('Words that never come to their end. '.repeat(5), { chunks: 20, stall: 'middle' }))
    await reads('Words that never come')
    assert.equal((await conversation()).execution_status, 'running')
    await at('stop-button').click()
    await at('play-button').waitFor()
    await isNow('paused')
  })

  test('a page loaded again in the middle of a run goes on with it', AT_LENGTH, async () => {
    const { promise: delay, resolve: speak } = Promise.withResolvers<void>()
    await ask('Think about it', say('Thought through.', { delay }))
    await isNow('running')
    await page.reload()
    await reads('Think about it')
    await at('stop-button').waitFor()
    speak()
    await reads('Thought through.')
    await at('stop-button').waitFor({ state: 'detached' })
  })

  test('what was asked about runs after Continue, and not after Cancel', async () => {
    await at('backend-selector-settings-link').click()
    await at('settings-navbar-desktop').getByText('Verification', { exact: true }).click()
    await page.getByText('Confirmation Mode').click()
    await at('save-button').click()
    await page.getByText('Settings saved').first().waitFor()
    await at('sidebar-conversations-link').click()
    await ask('Make files', call('terminal', { command: 'echo refused > no.txt' }))
    await at('action-reject-button').click()
    await isNow('idle')
    await ask('Then this', call('terminal', { command: 'echo allowed > yes.txt' }), finish('One file made.'))
    await at('action-confirm-button').click()
    await reads('One file made.')
    const path = (await conversation()).workspace.working_dir
    const changes = await server.client.gitChanges({ query: { path } })
    assert.deepEqual(
      changes.map(change => change.path),
      ['yes.txt'],
    )
  })

  test('nothing it asked for was refused, but what this interface may lack', () => {
    assert.deepEqual(
      refused.filter(line => !ABSENT.test(line)),
      [],
    )
    assert.deepEqual(
      complaints.filter(line => !NOISE.test(line)),
      [],
    )
  })
})
