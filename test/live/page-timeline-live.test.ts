import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { held } from '../support/agent.ts'
import { NO_BROWSER } from '../support/browser.ts'
import { call, fail, finish, say } from '../support/model-server.ts'
import { violations } from '../support/page.ts'
import { card, log, Onlooker } from '../support/timeline.ts'

describe('the timeline while things happen', { skip: NO_BROWSER }, () => {
  let onlooker: Onlooker
  before(async () => {
    onlooker = await Onlooker.start()
  })
  after(() => onlooker?.[Symbol.asyncDispose]())

  test('an answer is read while it is written, and stands there when it is whole', async () => {
    const gate = Promise.withResolvers<void>()
    const words = 'The answer is long enough to be cut into several pieces on its way.'
    const talk = await onlooker.rig.begin({
      llm: { stream: true },
      script: [
        say(words, { chunks: 8, trickle: { bytes: 300, ms: 60 }, reasoning: 'I ponder.', delay: gate.promise }),
        call('terminal', { command: held('job') }),
        finish('That is all.'),
      ],
    })
    const page = await onlooker.look(talk)
    await log(page).getByText('Nothing has happened here yet.').waitFor()
    await talk.say('Tell me')
    await log(page).getByText('Working…').waitFor()
    const parts = await log(page).evaluateHandle(element => {
      const parts = new Set<string>()
      new MutationObserver(() => {
        const text = element.querySelector('[aria-busy] .message-text')?.textContent?.trim()
        if (text) parts.add(text)
      }).observe(element, { childList: true, subtree: true, characterData: true })
      return parts
    })
    gate.resolve()
    await log(page).getByRole('article').getByText(words).waitFor()
    const written = await parts.evaluate(parts => [...parts])
    assert.ok(written.some(part => part.length < words.length && words.startsWith(part)))
    assert.equal(await log(page).getByText(words).count(), 1)
    await page.getByRole('status').getByText(words).waitFor({ state: 'attached' })

    await talk.say('Do it')
    const running = card(page, /^Run/)
    await running.getByText('Running').waitFor()
    await talk.begins('job')
    await talk.letGo('job')
    await running.getByText('exit 0', { exact: true }).waitFor()
    assert.equal(await running.getByText('Running').count(), 0)
    await log(page).getByText('That is all.').waitFor()
  })

  test('what waits for an answer is marked, and a refusal says who and why', async () => {
    const talk = await onlooker.rig.begin({
      say: 'Remove it',
      script: [call('terminal', { command: 'rm -rf build' }), finish('Then not.')],
      confirmation_policy: { kind: 'AlwaysConfirm' },
    })
    await talk.comesTo('waiting_for_confirmation')
    const page = await onlooker.look(talk)
    await card(page, /^Run rm/)
      .getByText('Waits for your answer')
      .waitFor()
    await talk.answer(false, { reason: 'I need that folder' })
    await card(page, /^Run rm/)
      .getByText('You refused it. I need that folder')
      .waitFor()
    assert.equal(await log(page).getByText('Waits for your answer').count(), 0)
  })

  test('a failure says what to do next', async () => {
    const talk = await onlooker.rig.begin({ say: 'Go', script: [fail('auth'), finish('Now it works.')] })
    await talk.comesTo('error')
    const page = await onlooker.look(talk)
    await log(page).getByText('The model refused the key').waitFor()
    const link = log(page).getByRole('link', { name: 'Open the settings of models' })
    assert.equal(await link.getAttribute('href'), '#/settings/models')
    await log(page).getByRole('button', { name: 'Try again' }).click()
    await log(page).getByText('Now it works.').waitFor()
    assert.equal(await log(page).getByRole('button', { name: 'Try again' }).count(), 0)
  })

  test('a budget that is used up is raised in place', async () => {
    const talk = await onlooker.rig.begin({
      say: 'Go',
      script: [call('terminal', { command: 'true' }), finish('Worth its price.')],
      llm: { input_cost_per_token: 0.01, output_cost_per_token: 0.01 },
      max_budget_per_task: 0.01,
    })
    await talk.comesTo('error')
    const page = await onlooker.look(talk)
    await log(page).getByRole('button', { name: 'Raise the budget' }).click()
    const dialog = page.getByRole('dialog', { name: 'Raise the budget' })
    await dialog.getByLabel('Budget in dollars').fill('1000')
    await dialog.getByRole('button', { name: 'Raise it and go on' }).click()
    await log(page).getByText('Worth its price.').waitFor()
    await dialog.waitFor({ state: 'detached' })
  })

  test('after going back, what came later is another branch, folded', async () => {
    const talk = await onlooker.rig.begin({ say: 'one', script: (_, n) => say(`answer ${n + 1}`) })
    await talk.comesTo('finished')
    await talk.say('two')
    await talk.comesTo('finished')
    const events = await talk.events()
    const first = events.find(event => JSON.stringify(event).includes('answer 1'))!
    await talk.post('navigate', { event_id: first.id })
    const page = await onlooker.look(talk)
    const aside = log(page).getByRole('button', { name: '2 events of another branch' })
    await aside.waitFor()
    assert.equal(await log(page).getByText('answer 2').count(), 0)
    await talk.say('three')
    await log(page).getByText('answer 3').waitFor()
    assert.equal(
      await log(page)
        .getByRole('button', { name: /another branch/ })
        .count(),
      1,
    )
    await aside.click()
    await log(page).locator('[data-aside]').getByText('answer 2').waitFor()
    assert.deepEqual(await violations(page), [])

    const second = events.find(event => JSON.stringify(event).includes('answer 2'))!
    const linked = await onlooker.look(talk, `?event=${second.id}`)
    await log(linked).locator('[data-marked]').getByText('answer 2').waitFor()
  })

  test('nothing complained', () => assert.deepEqual(onlooker.complaints, []))
})
