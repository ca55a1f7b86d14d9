/**
 * Words of English in about the order of their frequency: first what holds sentences together, then words of many
 * subjects. Written for this benchmark without a look at the dictionary that pages are packed with.
 */
export const ENGLISH_WORDS = `
the of and to a in that is was it for on with as he be at by this had not are but from or have an they which one you
were all her she there would their we him been has when who will no more if out so up said what its about than into
them can only other time new some could these two may first then do any like my now over such our man even most made
after also did many off before must well back through years where much your way down should because long each just
state those people too mr how little good world make very year still see work men day between under never might while
life last another same us being great both against own since came right used take himself few house use place during
high without again home around small however went found mrs thought part general school every once water upon say war
number always left got set away until hand public something fact less yet put end took night head far called better
going eyes asked later knew point program city business side give group toward days young let room present possible
system social given face order early second large nothing enough open need power several rather money case different
national form certain turned door things looked along done later interest want line area among family mind country
others light next began name human seen felt help sense important become voice car street white times result either
morning nature past hold half field local above whether court known action became matter death problem book table
river mountain garden kitchen window summer winter letter music paper picture story teacher student market village
engine bridge harbour forest island valley shoulder weather thunder blanket copper barrel lantern ladder carpet pepper
orange butter cheese bread coffee sugar honey salmon chicken turkey rabbit horse donkey camel tiger eagle sparrow
beetle spider oyster turtle dolphin whale pebble gravel granite marble crystal diamond silver golden purple yellow
crimson violet shadow mirror candle curtain pillow cushion drawer cabinet shelf basket bucket bottle kettle saucer
spoon dinner supper breakfast recipe flavour vinegar mustard garlic onion carrot cabbage lettuce pumpkin cherry peach
almond walnut barley wheat harvest farmer shepherd orchard meadow pasture fence gate stable wagon saddle bridle
journey passenger luggage ticket station railway platform captain sailor anchor rudder compass voyage island lagoon
tropical desert glacier volcano earthquake avalanche drizzle blizzard hurricane rainbow twilight midnight sunrise
horizon planet comet galaxy telescope orbit gravity magnet battery circuit voltage current furnace chimney factory
hammer chisel plumber carpenter mason blacksmith tailor weaver potter jeweller merchant banker broker lawyer judge
jury verdict witness evidence sheriff burglar prison pardon treaty parliament senate governor mayor election ballot
campaign citizen neighbour stranger cousin nephew grandmother widow orphan infant toddler teenager wedding funeral
anniversary festival carnival parade orchestra violin trumpet melody rhythm chorus ballet theatre curtain actor
sculpture canvas portrait museum library chapter sentence grammar alphabet dictionary pencil envelope postage stamp
newspaper headline editor journalist rumour secret whisper laughter sorrow anger courage patience wisdom folly mercy
justice honour glory triumph disaster famine plague fever cough ankle elbow knuckle stomach kidney muscle skeleton
surgeon nurse pharmacy bandage medicine vaccine remedy symptom appetite hunger thirst slumber nightmare
algebra geometry triangle cylinder fraction decimal average estimate budget invoice receipt salary pension mortgage
insurance dividend inflation shortage surplus cargo freight customs tariff warehouse inventory supplier retailer
wander stumble gallop hover plunge scatter gather polish scrub sweep rinse simmer sizzle crumble shiver tremble
hesitate persuade apologise insist forgive celebrate mourn admire despise envy borrow lend bargain wrestle juggle
ancient modest peculiar gloomy cheerful stubborn generous greedy clumsy graceful brittle hollow slippery fragrant
bitter sour salty crisp tender rugged steep narrow shallow remote distant nearby frequent seldom gradual sudden
`
  .trim()
  .split(/\s+/);
