import { useApp } from '../app.ts'
import { t } from '../words.ts'
import { Choices } from './choices.tsx'
import type { Draft } from './draft.ts'
import { SettingsForm } from './settings-form.tsx'

const MODE = 'confirmation_mode'
const ANALYZER = 'security_analyzer'

type Rule = 'never' | 'risky' | 'always'
type Analyzer = 'llm' | 'pattern' | 'policy_rail'

const JUDGES: readonly string[] = ['llm', 'pattern', 'policy_rail'] satisfies Analyzer[]

/** Where nobody judges, everything is asked for. */
function ruleOf(draft: Draft): Rule {
  if (draft.get(MODE) !== true) return 'never'
  return judgeOf(draft) ? 'risky' : 'always'
}

/** Nobody said anything: the model judges. */
function judgeOf(draft: Draft): Analyzer | undefined {
  const name = String(draft.get(ANALYZER) ?? 'llm')
  return JUDGES.includes(name) ? (name as Analyzer) : undefined
}

export function ConfirmationSection() {
  return <SettingsForm label={t('Confirmation')}>{draft => <Rules draft={draft} />}</SettingsForm>
}

function Rules({ draft }: { draft: Draft }) {
  const isolated = useApp().server.info.value?.isolated ?? true
  const rule = ruleOf(draft)
  const choose = (next: Rule) => {
    draft.set(MODE, next !== 'never')
    if (next === 'always') draft.set(ANALYZER, 'none')
    else if (!judgeOf(draft)) draft.set(ANALYZER, 'llm')
  }
  return (
    <>
      <div class="group stack">
        <Choices<Rule>
          label={t('When an agent asks')}
          current={rule}
          onSelect={choose}
          choices={[
            {
              key: 'never',
              label: t('Never'),
              hint: isolated
                ? t(
                    'It works without a break. The walls of its sandbox keep this machine safe; what it can reach from there, it can change.',
                  )
                : t(
                    'It works without a break. Nothing walls it in on this server: it can do whatever the server can do.',
                  ),
            },
            {
              key: 'risky',
              label: t('Before risky actions'),
              hint: t(
                'Each action is judged first. One of high risk, or one that nobody could judge, waits for your yes. The others run.',
              ),
            },
            {
              key: 'always',
              label: t('Before every action'),
              hint: t('Nothing runs without your yes: the safest, and the slowest.'),
            },
          ]}
        />
      </div>
      {rule === 'risky' && (
        <div class="group stack">
          <Choices<Analyzer>
            label={t('Who judges the risk')}
            current={judgeOf(draft) ?? 'llm'}
            onSelect={key => draft.set(ANALYZER, key)}
            choices={[
              {
                key: 'llm',
                label: t('The model itself'),
                hint: t('It knows best what an action is for, but it can be talked into something by what it reads.'),
              },
              {
                key: 'pattern',
                label: t('Patterns'),
                hint: t(
                  'Known dangerous commands and tricks are found by their text. Cannot be talked round; misses what is new.',
                ),
              },
              {
                key: 'policy_rail',
                label: t('Fixed rules'),
                hint: t(
                  'Rules for commands and files that see through quoting and shells within shells. Cannot be talked round; a script is judged by its name only.',
                ),
              },
            ]}
          />
        </div>
      )}
    </>
  )
}
