import assert from 'node:assert/strict'
import { createServer, request, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { AgentRig } from '../support/agent.ts'
import { NO_BROWSER, startBrowser } from '../support/browser.ts'
import { finish, say } from '../support/model-server.ts'
import { type OpenPage, openPage } from '../support/page.ts'
import { until } from '../support/wait.ts'

/** Of what everybody fetches who only looks in, as it travels. */
const MOST_BYTES = 250_000

describe('the page as a whole', { skip: NO_BROWSER }, () => {
  let rig: AgentRig
  let browser: Browser
  const opened: OpenPage[] = []
  before(async () => {
    rig = await AgentRig.start()
    browser = await startBrowser()
  })
  after(async () => {
    await browser?.close()
    await rig?.[Symbol.asyncDispose]()
  })

  async function open(place: string, server: { url: string; key: string } = rig.server): Promise<OpenPage> {
    const one = await openPage(browser, server, place)
    one.page.setDefaultTimeout(15_000)
    opened.push(one)
    return one
  }
  const asking = (page: Page) => page.getByRole('region', { name: 'Waiting for you' })
  const isFinished = (page: Page) => page.locator('.conversation-head').getByText('Finished').waitFor()

  test('a first visit fetches little, and paints', async () => {
    const { page, requested, close } = await open('/')
    await page.getByRole('heading', { name: 'Welcome to Gantry' }).waitFor()
    const sizes = await page.evaluate(() =>
      [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].map(
        entry => (entry as PerformanceResourceTiming).encodedBodySize,
      ),
    )
    assert.ok(sizes.length >= 3, `it fetched ${requested}`)
    const sum = sizes.reduce((a, b) => a + b)
    assert.ok(sum > 0 && sum < MOST_BYTES, `${sum} bytes: ${requested}`)
    await until('it painted', () =>
      page.evaluate(() => performance.getEntriesByName('first-contentful-paint').length === 1),
    )
    await close()
  })

  test('by keys alone somebody gets from an empty page to a finished task', async () => {
    const { page, close } = await open('/')
    await page.getByRole('heading', { name: 'Welcome to Gantry' }).waitFor()
    await tabTo(page, 'Task')
    await page.keyboard.type('Show me around')
    await page.keyboard.press('Enter')
    await asking(page).waitFor()
    await tabTo(page, 'Accept')
    await page.keyboard.press('Enter')
    await isFinished(page)
    await close()
  })

  test('from the menu of an event a conversation is taken back, and forked', async () => {
    const script = [finish('first answer'), say('second answer'), say('another answer')]
    const talk = await rig.begin({ say: 'begin', script })
    const { page, close } = await open(`/c/${talk.id}`)
    const said = (text: string) => page.getByRole('log').getByText(text, { exact: true })
    const tell = async (text: string) => {
      await page.getByRole('textbox', { name: 'Message' }).fill(text)
      await page.keyboard.press('Enter')
    }
    const choose = async (name: string) => {
      const event = page.locator('[data-item]', { has: page.getByText('first answer', { exact: true }) })
      await event.hover()
      await event.getByRole('button', { name: 'More about this event' }).click()
      await page.getByRole('menuitem', { name }).click()
    }
    await said('first answer').waitFor()
    await tell('go on')
    await said('second answer').waitFor()
    await isFinished(page)

    await choose('Go back to here')
    await said('second answer').waitFor({ state: 'detached' })
    await tell('differently')
    await said('another answer').waitFor()
    const folded = page.getByRole('button', { name: '2 events of another branch' })
    await folded.click()
    await said('second answer').waitFor()

    await choose('Fork from here')
    await page.getByRole('heading', { level: 1, name: '(fork)' }).waitFor()
    await said('first answer').waitFor()
    assert.equal(await said('another answer').count(), 0)
    assert.equal(await page.getByText('It did not work').count(), 0)
    assert.equal(await folded.count(), 0)
    await page.goBack()
    await said('another answer').waitFor()
    await close()
  })

  test('it works below a path of a reverse proxy, and asks for nothing beside it', async () => {
    const proxy = await startProxy(rig.server.url, '/gantry')
    try {
      const { page, requested, close } = await open('/', { url: proxy.url, key: rig.server.key })
      await page.getByRole('button', { name: 'Show me around', exact: true }).click()
      await page.getByRole('button', { name: 'Start', exact: true }).click()
      await asking(page).getByRole('button', { name: 'Accept' }).click()
      await isFinished(page)
      await page.getByRole('tab', { name: 'Terminal' }).click()
      const terminal = page.getByRole('textbox', { name: 'Terminal input' })
      await terminal.focus()
      await page.locator('.xterm-rows').getByText('$').first().waitFor()
      await page.keyboard.type('echo $((6 * 7))\n')
      await page.locator('.xterm-rows').getByText('42', { exact: true }).waitFor()
      assert.deepEqual(
        requested.filter(url => !url.replace(/^ws/, 'http').startsWith(`${proxy.url}/`)),
        [],
      )
      assert.ok(requested.some(url => url.startsWith('ws')))
      await close()
    } finally {
      proxy.server.close()
      proxy.server.closeAllConnections()
    }
  })

  test('it complained of nothing', () =>
    assert.deepEqual(
      opened.flatMap(({ complaints }) => complaints),
      [],
    ))
})

/** As somebody does who has no mouse: on until it is there. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press('Tab')
    const here = await page.evaluate(() => {
      const { activeElement: element } = document
      const label = element instanceof HTMLTextAreaElement ? element.labels[0]?.textContent : element?.textContent
      return label?.trim() ?? ''
    })
    if (here.startsWith(name)) return
  }
  throw new Error(`${name} is not reached by Tab`)
}

/** Passes on what is below the path, without it, and WebSockets too. The name it is called by goes along. */
async function startProxy(target: string, path: string): Promise<{ url: string; server: Server }> {
  const { hostname: host, port } = new URL(target)
  const server = createServer((incoming, outgoing) => {
    if (!incoming.url?.startsWith(`${path}/`)) return void outgoing.writeHead(404).end()
    const { method, headers } = incoming
    const onward = request({ host, port, path: incoming.url.slice(path.length), method, headers }, answer => {
      outgoing.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(outgoing)
    })
    onward.on('error', () => outgoing.destroy())
    outgoing.on('close', () => onward.destroy())
    incoming.pipe(onward)
  })
  server.on('upgrade', (incoming, socket, first) => {
    const onward = connect(Number(port), host, () => {
      const lines = incoming.rawHeaders.flatMap((name, at, all) => (at % 2 === 0 ? `${name}: ${all[at + 1]}` : []))
      onward.write([`GET ${incoming.url?.slice(path.length)} HTTP/1.1`, ...lines, '', ''].join('\r\n'))
      onward.write(first)
      onward.pipe(socket).pipe(onward)
    })
    for (const [one, other] of [
      [onward, socket],
      [socket, onward],
    ] as const)
      one.on('error', () => other.destroy()).on('close', () => other.destroy())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, server }
}
