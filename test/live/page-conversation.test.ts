import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { AgentRig, type Talk } from '../support/agent.ts'
import { NO_BROWSER, startBrowser } from '../support/browser.ts'
import { call, finish, say, type Turn } from '../support/model-server.ts'
import { LAPTOP, looks, type OpenPage, openPage, PHONE, picture, violations } from '../support/page.ts'
import { until } from '../support/wait.ts'

const run = (command: string, risk = 'HIGH', more: Turn = {}): Turn =>
  call('terminal', { command, security_risk: risk }, more)
const ASKS = {
  confirmation_policy: { kind: 'ConfirmRisky' },
  security_analyzer: { kind: 'LLMSecurityAnalyzer' },
}
/** A budget needs to know what a model costs. */
const PRICED = { input_cost_per_token: 0.000001, output_cost_per_token: 0.000002 }
const held = () => Promise.withResolvers<void>()

describe('the page: a conversation', { skip: NO_BROWSER }, () => {
  let rig: AgentRig
  let browser: Browser
  let opened: OpenPage
  before(async () => {
    rig = await AgentRig.start()
    browser = await startBrowser()
    opened = await openPage(browser, rig.server)
    opened.page.setDefaultTimeout(15_000)
  })
  after(async () => {
    await browser?.close()
    await rig?.[Symbol.asyncDispose]()
  })

  const button = (name: string | RegExp, exact = true) => opened.page.getByRole('button', { name, exact })
  const asking = () => opened.page.getByRole('region', { name: 'Waiting for you' })
  const isNow = (talk: Talk, status: string) =>
    until(`it is ${status}`, async () => {
      const { body } = await rig.call('GET', `/api/conversations/${talk.id}`)
      return body.execution_status === status
    })
  async function show(talk: Talk): Promise<void> {
    await opened.page.goto(`${rig.server.url}/#/c/${talk.id}`)
    await opened.page.getByRole('textbox', { name: 'Message' }).waitFor()
  }

  test('a pending action says exactly what will run and where, and runs after a yes from the keyboard', async () => {
    const talk = await rig.begin({ say: 'clean up', script: [run('rm -rf /tmp/build'), finish('cleaned')], ...ASKS })
    await show(talk)
    await asking().getByText('rm -rf /tmp/build').waitFor()
    assert.match(await asking().innerText(), /Run a command[\s\S]*High risk[\s\S]*in \/workspace\//)
    await until('the tab tells', async () => (await opened.page.title()).startsWith('(1) Waiting for you'))
    assert.deepEqual(await violations(opened.page), [])
    await picture(opened.page, 'asking')
    await opened.page.keyboard.press('Alt+KeyY')
    await isNow(talk, 'finished')
    await asking().waitFor({ state: 'detached' })
    await opened.page.getByText('cleaned').first().waitFor()
    await until('the tab has nothing more to tell', async () => !(await opened.page.title()).includes('Waiting'))
  })

  test('a no with a reason reaches the agent, and nothing was run', async () => {
    const script = [run('touch /tmp/never'), say('understood')]
    const talk = await rig.begin({ say: 'go', script, ...ASKS })
    await show(talk)
    await asking().waitFor()
    await opened.page.keyboard.press('Alt+KeyN')
    await opened.page.locator('.asking input:focus').waitFor()
    await opened.page.keyboard.type('not on a Sunday')
    await opened.page.keyboard.press('Enter')
    await isNow(talk, 'idle')
    const rejected = (await talk.events()).find(event => event.kind === 'UserRejectObservation')
    assert.equal(rejected?.rejection_reason, 'not on a Sunday')
    await opened.page.getByText('not on a Sunday').first().waitFor()
  })

  test('of two actions one is accepted and one rejected', async () => {
    const both = { calls: [run('echo one').calls![0]!, run('echo two').calls![0]!] }
    const talk = await rig.begin({ say: 'go', script: [both, finish('both answered')], ...ASKS })
    await show(talk)
    await asking().getByText('echo two').waitFor()
    await asking().getByRole('button', { name: 'Reject: Run a command' }).first().click()
    await asking().getByText('Rejected.').waitFor()
    await asking().getByRole('button', { name: 'Accept: Run a command' }).click()
    await isNow(talk, 'finished')
    const kinds = (await talk.events()).map(event => event.kind)
    assert.ok(kinds.includes('UserRejectObservation') && kinds.includes('ObservationEvent'))
  })

  test('when the agent asks is changed in place', async () => {
    const talk = await rig.begin({})
    await show(talk)
    const choice = opened.page.getByRole('combobox', { name: 'When the agent asks' }).first()
    await choice.selectOption({ label: 'Always asks' })
    await until('it is stored', async () => {
      const { body } = await rig.call('GET', `/api/conversations/${talk.id}`)
      return body.confirmation_policy.kind === 'AlwaysConfirm'
    })
  })

  test('a message joins a run; pause, go on and stop do what they say', async () => {
    const gate = held()
    const stall = held()
    const talk = await rig.begin({
      say: 'begin',
      script: [
        run('echo started', 'LOW', { delay: gate.promise }),
        finish('heard you'),
        finish('on', { delay: stall.promise }),
      ],
    })
    await show(talk)
    await opened.page.getByRole('textbox', { name: 'Message' }).fill('and mind the tests')
    await opened.page.keyboard.press('Enter')
    await opened.page.getByText('and mind the tests').waitFor()
    await button('Pause').click()
    gate.resolve()
    await isNow(talk, 'paused')
    await button('Go on').click()
    await isNow(talk, 'finished')
    await opened.page.getByRole('textbox', { name: 'Message' }).fill('once more')
    await button('Send').click()
    await button('Stop').click()
    await until('it stopped', async () => (await talk.events()).some(event => event.kind === 'InterruptEvent'))
    stall.resolve()
  })

  test('a draft survives a reload, and a lost connection is made up for without a gap or a repetition', async () => {
    const gate = held()
    const talk = await rig.begin({
      say: 'count',
      script: [run('echo one', 'LOW', { delay: gate.promise }), finish('all there')],
    })
    await show(talk)
    await opened.page.getByRole('textbox', { name: 'Message' }).fill('half a thought')
    await opened.page.reload()
    assert.equal(await opened.page.getByRole('textbox', { name: 'Message' }).inputValue(), 'half a thought')
    await opened.page.getByRole('textbox', { name: 'Message' }).fill('')
    await opened.page.getByText('Running').first().waitFor()
    await opened.page.context().setOffline(true)
    await opened.page.getByText('The server does not answer').waitFor()
    gate.resolve()
    await isNow(talk, 'finished')
    await opened.page.context().setOffline(false)
    await opened.page.getByText('all there').first().waitFor()
    await opened.page.getByText('The server does not answer').waitFor({ state: 'detached' })
    assert.equal(await opened.page.locator('.markdown', { hasText: 'all there' }).count(), 1)
  })

  test('the budget is seen and raised, and a fork is a conversation of its own', async () => {
    const talk = await rig.begin({ say: 'hi', script: [finish('hello')], llm: PRICED, max_budget_per_task: 1 })
    await isNow(talk, 'finished')
    await show(talk)
    await opened.page.getByTitle('Cost, tokens and budget').click()
    await opened.page.getByLabel('Budget in dollars').fill('2.5')
    await button('Set the budget').click()
    await opened.page.getByText('of $2.50').waitFor()
    await button('More').last().click()
    await opened.page.getByRole('menuitem', { name: 'Fork' }).click()
    await opened.page.waitForURL(url => url.hash.startsWith('#/c/') && !url.hash.includes(talk.id))
    await opened.page.getByText('hello').first().waitFor()
  })

  test('conversations are named, tagged, found and deleted', async () => {
    const talk = await rig.begin({})
    await show(talk)
    await button('More').last().click()
    await opened.page.getByRole('menuitem', { name: 'Title and tags' }).click()
    await opened.page.getByRole('textbox', { name: 'Title' }).fill('The zebra crossing')
    await opened.page.getByRole('textbox', { name: 'Tags' }).fill('team=web, urgent')
    await button('Save').click()
    await opened.page.getByRole('heading', { name: 'The zebra crossing' }).waitFor()
    await opened.page.getByRole('searchbox', { name: 'Search conversations' }).fill('zebra')
    await until('only that one is listed', async () => (await opened.page.locator('.conversation-row').count()) === 1)
    await opened.page.getByRole('searchbox', { name: 'Search conversations' }).fill('')
    await button('urgent').click()
    await until(
      'only what bears the tag is listed',
      async () => (await opened.page.locator('.conversation-row').count()) === 1,
    )
    await button('urgent').first().click()
    await button('About The zebra crossing').click()
    await opened.page.getByRole('menuitem', { name: 'Delete' }).click()
    await button('Delete').click()
    await opened.page.waitForURL(url => !url.hash.includes(talk.id))
    assert.equal((await rig.call('GET', `/api/conversations/${talk.id}`)).status, 404)
  })

  test('nothing of it needs a mouse, and nothing is out of reach on a phone or in the dark', async () => {
    const talk = await rig.begin({ say: 'clean up', script: [run('rm -rf /tmp/x'), finish('ok')], ...ASKS })
    for (const options of looks(PHONE, { ...LAPTOP, colorScheme: 'dark' as const })) {
      const other = await openPage(browser, rig.server, `/c/${talk.id}`, options)
      await other.page.getByRole('region', { name: 'Waiting for you' }).waitFor()
      assert.deepEqual(await violations(other.page), [])
      const wide = await other.page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
      assert.ok(wide <= 0, `the page is ${wide} px too wide`)
      await picture(other.page, options === PHONE ? 'phone' : 'dark')
      assert.deepEqual(other.complaints, [])
      await other.close()
    }
    await show(talk)
    await asking().waitFor()
    const accept = asking().getByRole('button', { name: /^Accept/ })
    for (let tabs = 0; tabs < 60; tabs++) {
      if (await accept.evaluate(element => element === document.activeElement)) break
      await opened.page.keyboard.press('Tab')
    }
    await opened.page.keyboard.press('Enter')
    await isNow(talk, 'finished')
  })

  test('it complained of nothing, and asked nobody but its own server', () => {
    // While its connection was cut it could not but say so.
    assert.deepEqual(
      opened.complaints.filter(text => !text.includes('ERR_INTERNET_DISCONNECTED')),
      [],
    )
    const origins = new Set(opened.requested.filter(url => !url.startsWith('data:')).map(url => new URL(url).host))
    assert.deepEqual([...origins], [new URL(rig.server.url).host])
  })
})
