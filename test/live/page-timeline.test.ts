import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Talk } from '../support/agent.ts'
import { NO_BROWSER } from '../support/browser.ts'
import { PHONE, picture, violations } from '../support/page.ts'
import { aDay, CLIPBOARD, card, clipboard, log, Onlooker, scrollToTop } from '../support/timeline.ts'
import { until } from '../support/wait.ts'

describe('the timeline of a conversation', { skip: NO_BROWSER }, () => {
  let onlooker: Onlooker
  let day: Promise<Talk>
  before(async () => {
    onlooker = await Onlooker.start()
    day = aDay(onlooker.rig)
  })
  after(() => onlooker?.[Symbol.asyncDispose]())

  test('every kind of event is shown as what it is, an action with what came of it', async () => {
    const talk = await day
    const page = await onlooker.look(talk, '', CLIPBOARD)
    await log(page).getByText('Like this').waitFor()
    await log(page).getByRole('img', { name: 'Picture 1' }).waitFor()
    await log(page).getByRole('link', { name: 'Picture 2, at example.com' }).waitFor()
    assert.equal(await log(page).locator('strong').getByText('done').count(), 1)

    const helper = card(page, /^Give a task/)
    await helper.getByText('Nothing found there.').waitFor()
    const child = await helper.getByRole('link', { name: 'Open' }).getAttribute('href')
    assert.match(child ?? '', /^#\/c\/[0-9a-f-]{36}$/)

    await scrollToTop(page)
    await log(page).getByText('Instructions and').waitFor()
    await log(page).getByText('First a plan.').waitFor()
    assert.equal(await log(page).getByText('Well now.').count(), 0)
    await log(page).getByRole('button', { name: 'Thought for a moment' }).click()
    await log(page).getByText('Well now.').waitFor()

    const plan = card(page, /^Plan/)
    assert.equal(await plan.getByRole('listitem').count(), 2)
    await plan.getByRole('img', { name: 'In progress' }).waitFor()

    const created = card(page, /^Write/)
    await created.getByText('total.js', { exact: true }).waitFor()
    await created.getByText('export').waitFor()

    const read = card(page, /^Read/)
    assert.equal(await read.locator('pre').count(), 0, 'what was read is folded')
    await read.getByRole('button', { name: /Read/ }).click()
    await read.getByText('export function total').waitFor()

    const edited = card(page, /^Edit/)
    const changes = edited.getByRole('table', { name: /total\.js/ })
    assert.equal(await changes.locator('del').textContent(), '  let sum = 0')
    assert.equal(await changes.locator('ins').textContent(), '  let sum = 1')
    await edited.getByRole('button', { name: 'Copy the diff' }).click()
    await edited.getByRole('button', { name: 'Copied' }).waitFor()
    assert.match(await clipboard(page), /^- {2}let sum = 0$/m)

    const failed = card(page, /^Run echo first/)
    await failed.getByText('exit 3', { exact: true }).waitFor()
    assert.equal(await failed.getByText('101').count(), 0, 'a long output is folded to its end')
    await failed.getByRole('button', { name: 'Show all 42 lines' }).click()
    await failed.getByText('first\n100').waitFor()
    await failed.getByRole('button', { name: 'Copy the output' }).click()
    await until('the output is copied', async () => (await clipboard(page)).startsWith('first\n100'))
    await failed.getByRole('button', { name: 'Copy the command' }).click()
    await until('the command is copied', async () => (await clipboard(page)).startsWith('echo first;'))

    await log(page).getByText('It is the rounding.').waitFor()
    const foreign = card(page, 'Use echo')
    await foreign.getByRole('button', { name: 'Use echo' }).click()
    await foreign.getByRole('row', { name: /^text over/ }).waitFor()
    await foreign.locator('.ansi-fg-1').waitFor()
    assert.match((await foreign.locator('pre').textContent()) ?? '', /good heard over there$/)
    const unknown = card(page, /no_such_tool/)
    await unknown.getByRole('row', { name: 'weight 12' }).waitFor()
    await unknown.getByText('It did not work').waitFor()
  })

  test('what a message or a program says can do nothing to the page', async () => {
    const talk = await day
    const page = await onlooker.look(talk)
    await card(page, /^Run echo "/)
      .getByText('<img src=x onerror=alert(1)>')
      .last()
      .waitFor()
    await scrollToTop(page)
    await log(page).getByText('<script>alert(1)</script>').waitFor()
    assert.equal(await log(page).locator('script, img:not([alt]), [onerror], a[href^=javascript]').count(), 0)
    assert.doesNotMatch(await page.title(), /^1$/)
  })

  test('it is accessible in both themes, and fits a phone', async () => {
    const talk = await day
    for (const options of [{ colorScheme: 'dark' as const }, PHONE]) {
      const page = await onlooker.look(talk, '', options)
      await log(page).getByText('Like this').waitFor()
      assert.deepEqual(await violations(page), [])
      await scrollToTop(page)
      await card(page, /^Edit/).waitFor()
      await picture(page, `timeline-${'isMobile' in options ? 'phone' : 'dark'}`)
      assert.deepEqual(await violations(page), [])
      assert.equal(await log(page).evaluate(element => element.scrollWidth - element.clientWidth), 0)
    }
  })

  test('nothing complained', () => assert.deepEqual(onlooker.complaints, []))
})
